// The jobs of messages: until a message is claimed, its job is its record.
import { sendPayloadSchema } from '../../jobs/send.ts'
import { messageId } from '../../messages/message-id.ts'
import type { Redis } from '../../redis/connect.ts'
import { jsonText } from '../../redis/records.ts'
import { JOB, laneJobKey } from '../layout.ts'

/** What a job of a message says, from its text. */
export const payloadText = jsonText.pipe(sendPayloadSchema)

/** What the job with the id of a message says; null without one. `isDead`: it is a dead letter. */
export async function readJob(
  redis: Redis,
  lane: number,
  id: string,
): Promise<{ text: string | null; isDead: boolean }> {
  const [text = null, reason = null] = await redis.hmget(laneJobKey(lane, id), JOB.data, JOB.failedReason)
  return { text, isDead: reason !== null }
}

/** `waits`: it is queued, delayed or being worked on. */
export type JobState = 'none' | 'waits' | 'dead_letter'

/** Of many messages of one lane in one round trip, in their order. */
export const jobStates = (redis: Redis, lane: number, ulids: readonly string[]): Promise<JobState[]> =>
  Promise.all(
    ulids.map(async (ulid) => {
      const [name, reason] = await redis.hmget(laneJobKey(lane, messageId(lane, ulid)), JOB.name, JOB.failedReason)
      return name === null ? 'none' : reason === null ? 'waits' : 'dead_letter'
    }),
  )
