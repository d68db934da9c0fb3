// Dead letters: jobs that failed before any worker could claim them. They have no record, only the job.

import { type SendPayload, storedPayload } from '../../jobs/send.ts'
import { parseMessageId } from '../../kernel/message-id.ts'
import { archiveOf } from '../../lanes/archive/archive.ts'
import { laneDeadLettersKey } from '../../lanes/bullmq/layout.ts'
import { retry } from '../../lanes/bullmq/open-queue.ts'
import { isLaneClosed } from '../../lanes/closed-lanes.ts'
import { payloadText, readJob } from '../../lanes/jobs.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import { deadLetter as deadLetterProblem } from '../../model/messages/own-problems.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { matchesRequeue, type RequeueFilter } from './filter.ts'

interface RetryDeps {
  redis: Redis
  queues: LaneQueues
  config: { retentionMs: number; validityMs: Readonly<Record<SendPayload['class'], number>> }
}

/** A failed job whose payload can still be sent. */
export interface DeadLetter {
  name: string
  payload: SendPayload
}

/**
 * The jobs that match and have no record. Skips jobs that are no messages: they could not be sent.
 */
export async function matchingDeadLetters(
  { redis }: { redis: Redis },
  lane: number,
  names: readonly string[],
  filter: RequeueFilter,
): Promise<DeadLetter[]> {
  const ids = names.flatMap((name) => {
    const id = parseMessageId(name)
    return id?.lane === lane ? [{ name, ulid: id.ulid }] : []
  })
  const records = await archiveOf(redis).find({ lane, ulids: ids.map(({ ulid }) => ulid) }, 'progress')
  const found = await Promise.all(
    ids.map(async ({ name }, i) => {
      if (records[i] !== undefined) return undefined
      const { text, isDead } = await readJob(redis, lane, name)
      const payload = payloadText.safeParse(text)
      if (!isDead || !payload.success) return undefined
      const message = { ...payload.data, state: 'failed' as const, repeats: 0, problem: deadLetterProblem }
      return matchesRequeue(message, filter) ? { name, payload: payload.data } : undefined
    }),
  )
  return found.filter((each) => each !== undefined)
}

/**
 * Puts the job back on its lane with a new validity. False when another process has done so, or the sender was removed.
 * Dying between the two writes is harmless: the job is still a dead letter, with another validity.
 */
export async function retryDeadLetter(
  { redis, queues, config }: RetryDeps,
  lane: number,
  { name, payload }: DeadLetter,
): Promise<boolean> {
  const until = (await redisNowMs(redis, laneDeadLettersKey(lane))) + config.validityMs[payload.class]
  const ulid = parseMessageId(name)?.ulid
  if (ulid !== undefined) await archiveOf(redis).put({ lane, ulids: [ulid], keptUntilMs: until + config.retentionMs })
  const isBack = await retry(queues.queueOf(lane), name, storedPayload({ ...payload, until }))
  // Its sender was removed meanwhile, and the rest of the lane with it.
  return isBack && !(await isLaneClosed(redis, lane))
}
