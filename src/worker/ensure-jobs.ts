// Makes sure that messages which were queued again have a job, and that a job set aside is not waited for. The safety
// net of whoever queues them again; each decision is fenced, so that doing it twice changes nothing.
import { sendPayloadSchema } from '../jobs/send.ts'
import { messageId } from '../messages/message-id.ts'
import { jsonText } from '../store/broken-record.ts'
import { jobStates } from '../store/lane-jobs.ts'
import type { LaneMessage, LaneQueues } from '../store/lane-queues.ts'
import { readMessagesOrNot } from '../store/message-records.ts'
import { giveEvidence } from '../store/messages.ts'
import { lookForJob, lookForJobNoMore } from '../store/queued-again.ts'
import type { Redis } from '../store/redis.ts'

/** Whoever has a job is looked at once more after this, in case it vanishes. */
const LOOK_AGAIN_MS = 60_000

const storedPayload = jsonText.pipe(sendPayloadSchema)

export async function ensureJobs(
  deps: { redis: Redis; queues: LaneQueues },
  lane: number,
  ulids: readonly string[],
  nowMs: number,
): Promise<void> {
  const { redis, queues } = deps
  const jobs = await jobStates(redis, lane, ulids)
  const without = ulids.flatMap((ulid, i) => (jobs[i] === 'waits' ? [] : [{ ulid, job: jobs[i] }]))
  const records = await readMessagesOrNot(
    redis,
    lane,
    without.map(({ ulid }) => ulid),
  )
  const missing: LaneMessage[] = []
  const gone: string[] = []
  for (const [i, { ulid, job }] of without.entries()) {
    const record = records[i]
    // A person may repair its record; until then it keeps its place on the list.
    if (record === 'unreadable') continue
    if (record?.state !== 'queued') {
      gone.push(ulid)
      continue
    }
    const payload = storedPayload.safeParse(record.payload)
    if (job === 'dead_letter' || !payload.success) {
      const problem = job === 'dead_letter' ? deadLetter : contentLost
      await giveEvidence(redis, { lane, ulid }, record.attempt, 'failed', { problem })
    } else {
      missing.push({ id: messageId(lane, ulid), payload: { ...payload.data, until: record.validUntil } })
    }
  }
  // Dying before the next look is noted is harmless: the next sweep adds the same jobs again, which changes nothing.
  if (missing.length > 0) await queues.addMany(missing)
  await lookForJobNoMore(redis, lane, gone)
  await lookForJob(redis, lane, ulids, nowMs + LOOK_AGAIN_MS)
}

const deadLetter = { code: 'dead_letter', sentence: 'It could not be processed and was set aside.' }
const contentLost = { code: 'content_lost', sentence: 'Its content is no longer stored, so it cannot be sent again.' }
