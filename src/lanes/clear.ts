// Removes waiting jobs that must not be sent from a lane, a page at a time and not at the pace of the lane. They are moved
// behind all others first, which takes a tenth of the time, and removed there.
import { z } from 'zod'
import type { SendPayload } from '../jobs/send.ts'
import { acceptedAtMs, parseMessageId } from '../kernel/message-id.ts'
import type { Redis } from '../redis/connect.ts'
import {
  campaignPrefix,
  laneClearedByKey,
  messageKey,
  outboxKey,
  queuedAgainKey,
  requeueableKey,
} from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { observerOf } from '../redis/observe.ts'
import { JOB, laneBacklogKeys, laneJobKey } from './bullmq/layout.ts'
import { payloadText } from './jobs.ts'
import { defineMessageScript } from './messages/message-script.ts'
import { newMessageOf } from './messages/new-message.ts'
import { newRecordFields } from './messages/record-format.ts'

/**
 * How many jobs are read at a time, and how many of those are judged in one step: Redis serves nobody else for some 2
 * ms.
 */
const PAGE = 500
const STEP = 100

/** What a script reads of the payload of a job. */
const PAYLOAD = { until: 'until', run: 'run' } as const satisfies { [Name in keyof SendPayload]?: Name }

const filterScript = defineScript(import.meta.url, 'lane-filter', { names: { JOB, PAYLOAD } })
const clearScript = defineMessageScript(import.meta.url, 'lane-clear')
const twoCounts = z.tuple([z.number(), z.number()])

/** What is about to be cleared: the waiting jobs of a class. `by` names the caller: one at a time clears a list. */
export interface Clearing {
  lane: number
  of: SendPayload['class']
  by: string
}

/** What `filterUnsendable` did: `moved` jobs went behind all others. */
export interface FilteredPage {
  /** Jobs that were examined; 0 when there are no more. */
  seen: number
  moved: number
}

/** What `clearPage` did: how many messages expired, and how many belong to a campaign that does not run. */
export interface ClearedPage {
  /** Jobs that were examined; fewer than a page when there are no more. */
  seen: number
  expired: number
  stopped: number
}

/** Whether nothing of the class waits behind this page. */
export const isLastPage = ({ seen }: ClearedPage): boolean => seen < PAGE

/** Jobs of the class that wait. */
export async function waitingOf(redis: Redis, { lane, of }: Clearing): Promise<number> {
  const { waiting, prioritized } = laneBacklogKeys(lane)
  return of === 'campaign' ? redis.zcard(prioritized) : redis.llen(waiting)
}

/**
 * Moves those of the next waiting jobs that seem unsendable behind all others. Skips the first `kept` and examines `most`, or a page
 * of them. Undefined while another caller does it.
 */
export async function filterUnsendable(
  redis: Redis,
  { lane, of, by }: Clearing,
  how: { kept: number; most: number },
): Promise<FilteredPage | undefined> {
  const { waiting, prioritized } = laneBacklogKeys(lane)
  const reply = await filterScript(
    redis,
    { waiting: of === 'campaign' ? prioritized : waiting, clearedBy: laneClearedByKey(lane, of) },
    {
      ...{ by, kept: how.kept, most: Math.min(how.most, PAGE) },
      ...{ campaigns: campaignPrefix(lane), jobs: laneJobKey(lane, '') },
    },
  )
  const [seen, moved] = twoCounts.parse(reply)
  return seen < 0 ? undefined : { seen, moved }
}

/**
 * Ends those of the last waiting jobs of a class that must not be sent, skipping the very last `kept` of them. Leaves the same records
 * as their claims would have. Undefined while another caller does it.
 */
export async function clearPage(
  redis: Redis,
  { lane, of, by }: Clearing,
  how: { kept: number; retentionMs: number },
): Promise<ClearedPage | undefined> {
  const { waiting, prioritized } = laneBacklogKeys(lane)
  const isCampaign = of === 'campaign'
  const key = isCampaign ? prioritized : waiting
  const sole = redis.get(laneClearedByKey(lane, of))
  const next = isCampaign
    ? redis.zrange(key, String(how.kept), String(how.kept + PAGE - 1), 'REV')
    : redis.lrange(key, how.kept, how.kept + PAGE - 1)
  const [who, names] = await Promise.all([sole, next])
  if (who !== null && who !== by) return undefined
  if (names.length === 0) return { seen: 0, expired: 0, stopped: 0 }

  const jobs = await Promise.all(names.map((name) => redis.hget(laneJobKey(lane, name), JOB.data)))
  // Sent together, so that Redis, which syncs its file once per turn of its loop, syncs once for all of them.
  const steps: Promise<unknown>[] = []
  for (let from = 0; from < names.length; from += STEP) {
    const messages = names.slice(from, from + STEP).flatMap((name, i) => waitingMessage(lane, name, jobs[from + i]))
    steps.push(
      clearScript(
        redis,
        {
          outbox: outboxKey(lane),
          waiting: key,
          requeueable: requeueableKey(lane),
          clearedBy: laneClearedByKey(lane, of),
          queuedAgain: queuedAgainKey(lane),
        },
        {
          ...{ by, retentionMs: how.retentionMs, campaigns: campaignPrefix(lane) },
          ...{ records: messageKey(lane, ''), jobs: laneJobKey(lane, ''), messages },
        },
      ),
    )
  }
  const total = { seen: names.length, expired: 0, stopped: 0 }
  for (const [expired, stopped] of z.array(twoCounts).parse(await Promise.all(steps))) {
    if (expired < 0) return undefined
    total.expired += expired
    total.stopped += stopped
  }
  if (total.expired > 0) {
    observerOf(redis).changed({ lane, class: of, from: 'queued', to: 'expired', count: total.expired })
  }
  return total
}

/**
 * The script's arguments for a message; none for an unreadable one, which becomes a dead letter when a worker reads it.
 */
function waitingMessage(lane: number, jobId: string, data: string | null | undefined) {
  const id = parseMessageId(jobId)
  const payload = payloadText.safeParse(data)
  if (id?.lane !== lane || !payload.success) return []
  const { until, run } = payload.data
  const newFields = newRecordFields(newMessageOf(payload.data))
  return [{ jobId, ulid: id.ulid, acceptedAt: acceptedAtMs(id.ulid), validUntil: until, run, newFields }]
}
