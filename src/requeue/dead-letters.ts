// Dead letters: jobs that failed before any worker could claim them. They have no record, so the job is all there is.

import { type SendPayload, sendPayloadSchema, storedPayload } from '../jobs/send.ts'
import { parseMessageId } from '../messages/message-id.ts'
import { keepIndexed } from '../messages/store/message-index.ts'
import { readStates } from '../messages/store/states.ts'
import { hasJobMovedOn } from '../queue/errors.ts'
import { isLaneClosed } from '../queue/lane/close.ts'
import type { LaneQueues } from '../queue/lane/queues.ts'
import { laneDeadLettersKey } from '../queue/layout.ts'
import type { Job } from '../queue/worker.ts'
import { redisNowMs } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { matchesRequeue, type RequeueFilter } from './filter.ts'

/** The code that a lookup shows for such a message. */
const DEAD_LETTER = 'dead_letter'

interface RetryDeps {
  redis: Redis
  config: { retentionMs: number; validityMs: Readonly<Record<SendPayload['class'], number>> }
}

/** A failed job whose payload can still be sent. */
export interface DeadLetter {
  job: Job
  payload: SendPayload
}

/**
 * Those of the jobs that match and have no record. What cannot be read as a message is passed over: it could not be
 * sent.
 */
export async function matchingDeadLetters(
  deps: { redis: Redis; queues: LaneQueues },
  lane: number,
  names: readonly string[],
  filter: RequeueFilter,
): Promise<DeadLetter[]> {
  const ids = names.flatMap((name) => {
    const id = parseMessageId(name)
    return id ? [{ name, ulid: id.ulid }] : []
  })
  const states = await readStates(
    deps.redis,
    lane,
    ids.map(({ ulid }) => ulid),
  )
  const found = await Promise.all(
    ids.map(async ({ name }, i) => {
      if (states[i] !== undefined) return undefined
      // BullMQ cannot make a job of data that is not JSON.
      const job: Job | undefined = await deps.queues
        .queueOf(lane)
        .getJob(name)
        .catch(() => undefined)
      const payload = sendPayloadSchema.safeParse(job?.data)
      if (!job?.failedReason || !payload.success) return undefined
      const message = { ...payload.data, state: 'failed' as const, repeats: 0, problem: { code: DEAD_LETTER } }
      return matchesRequeue(message, filter) ? { job, payload: payload.data } : undefined
    }),
  )
  return found.filter((each) => each !== undefined)
}

/**
 * Puts the job back on its lane with a new validity. False when somebody else has done so, or the sender was removed.
 * Dying between the two writes is harmless: the job is still a dead letter, with another validity.
 */
export async function retryDeadLetter(
  { redis, config }: RetryDeps,
  lane: number,
  { job, payload }: DeadLetter,
): Promise<boolean> {
  const until = (await redisNowMs(redis, laneDeadLettersKey(lane))) + config.validityMs[payload.class]
  const ulid = parseMessageId(job.id ?? '')?.ulid
  if (ulid !== undefined) await keepIndexed(redis, lane, [ulid], until + config.retentionMs)
  await job.updateData(storedPayload({ ...payload, until }))
  try {
    await job.retry('failed')
    // Its sender was removed meanwhile, and what is left on the lane goes with it.
    return !(await isLaneClosed(redis, lane))
  } catch (error) {
    if (!hasJobMovedOn(error)) throw error
    return false
  }
}
