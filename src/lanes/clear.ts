// Takes jobs off a lane that wait but must not be sent, a page at a time, without a worker having to fetch each of them
// at the pace of the lane.
import { z } from 'zod'
import { type SendPayload, sendPayloadSchema } from '../jobs/send.ts'
import { acceptedAtMs, parseMessageId } from '../messages/message-id.ts'
import { defineMessageScript } from '../messages/store/message-script.ts'
import { newMessageOf, newRecordFields } from '../messages/store/record-format.ts'
import { JOB, laneBacklogKeys, laneJobKey } from '../redis/bullmq-layout.ts'
import type { Redis } from '../redis/connect.ts'
import { jsonText } from '../redis/corrupt-record.ts'
import { campaignPrefix, endedBadlyKey, laneClearedByKey, messageKey, queuedAgainKey } from '../redis/keys.ts'

/** Jobs that are read at a time, and of those how many are judged in one step: Redis serves nobody else for some 2 ms. */
const PAGE = 500
const STEP = 100

const clearScript = defineMessageScript(import.meta.url, 'lane-clear')
const clearReply = z.tuple([z.number(), z.number()])
const storedPayload = jsonText.pipe(sendPayloadSchema)

export interface ClearedPage {
  /** Jobs that were looked at; fewer than a page when there are no more. */
  seen: number
  expired: number
  stopped: number
}

export const isLastPage = ({ seen }: ClearedPage): boolean => seen < PAGE

/**
 * Ends those of the next waiting jobs of a class that must not be sent, passing over the first `kept` of them. What they
 * leave behind is what their claims would have left. `by` names the caller: undefined when another one is at it.
 */
export async function clearPage(
  redis: Redis,
  lane: number,
  of: SendPayload['class'],
  how: { kept: number; by: string; retentionMs: number },
): Promise<ClearedPage | undefined> {
  const { waiting, prioritized } = laneBacklogKeys(lane)
  const isCampaign = of === 'campaign'
  const key = isCampaign ? prioritized : waiting
  // Asked before anything is read as well: every refused claim of every worker comes here.
  const sole = redis.get(laneClearedByKey(lane, of))
  const next = isCampaign
    ? redis.zrange(key, String(how.kept), String(how.kept + PAGE - 1))
    : redis.lrange(key, -how.kept - PAGE, -how.kept - 1)
  const [who, found] = await Promise.all([sole, next])
  if (who !== null && who !== how.by) return undefined
  const names = isCampaign ? found : found.reverse()
  if (names.length === 0) return { seen: 0, expired: 0, stopped: 0 }

  const jobs = await Promise.all(names.map((name) => redis.hget(laneJobKey(lane, name), JOB.data)))
  // Sent together, so that Redis, which syncs its file once per turn of its loop, syncs once for all of them.
  const steps: Promise<unknown>[] = []
  for (let from = 0; from < names.length; from += STEP) {
    const messages = names.slice(from, from + STEP).flatMap((name, i) => waitingMessage(name, jobs[from + i]))
    steps.push(
      clearScript(
        redis,
        {
          waiting: key,
          requeueable: endedBadlyKey(lane),
          clearedBy: laneClearedByKey(lane, of),
          queuedAgain: queuedAgainKey(lane),
        },
        {
          ...{ by: how.by, retentionMs: how.retentionMs, campaigns: campaignPrefix(lane) },
          ...{ records: messageKey(lane, ''), jobs: laneJobKey(lane, ''), messages },
        },
      ),
    )
  }
  const total = { seen: names.length, expired: 0, stopped: 0 }
  for (const [expired, stopped] of z.array(clearReply).parse(await Promise.all(steps))) {
    if (expired < 0) return undefined
    total.expired += expired
    total.stopped += stopped
  }
  return total
}

/** What the script is given of a message; nothing of one that cannot be read: whoever fetches it sets it aside. */
function waitingMessage(jobId: string, data: string | null | undefined) {
  const id = parseMessageId(jobId)
  const payload = storedPayload.safeParse(data)
  if (!id || !payload.success) return []
  const { until, run } = payload.data
  const fields = newRecordFields(newMessageOf(payload.data))
  return [{ jobId, ulid: id.ulid, acceptedAt: acceptedAtMs(id.ulid), validUntil: until, run, fields }]
}
