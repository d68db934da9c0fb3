// What BullMQ holds under the ids of messages: whether there is a job, and whether it is a dead letter.
import { messageId } from '../../messages/message-id.ts'
import { jobKey } from '../../messages/store/steps.ts'
import type { Redis } from '../../redis/connect.ts'
import { JOB } from '../layout.ts'
import type { LaneQueues } from './queues.ts'

/** `waits`: it is queued, delayed or being worked on. */
export type JobState = 'none' | 'waits' | 'dead_letter'

/** Of many messages of one lane in one round trip, in their order. */
export async function jobStates(redis: Redis, lane: number, ulids: readonly string[]): Promise<JobState[]> {
  if (ulids.length === 0) return []
  const pipeline = redis.pipeline()
  for (const ulid of ulids) pipeline.hmget(jobKey({ lane, ulid }), JOB.name, JOB.failedReason)
  const replies = (await pipeline.exec()) ?? []
  return replies.map(([error, fields]) => {
    if (error) throw error
    const [name, failedReason] = fields as (string | null)[]
    return name === null || name === undefined ? 'none' : failedReason === null ? 'waits' : 'dead_letter'
  })
}

/** A dead letter still holds the message's id and would keep a new one from being added. */
export async function forgetDeadLetters(queues: LaneQueues, lane: number, ulids: readonly string[]): Promise<void> {
  for (const ulid of ulids) await queues.queueOf(lane).remove(messageId(lane, ulid))
}
