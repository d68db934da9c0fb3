// The jobs of messages as they wait on their lane: reading them, since a job is the record of its message until the first
// claim; and closing the lane for good.
import { sendPayloadSchema } from '../../jobs/send.ts'
import { messageId } from '../../messages/message-id.ts'
import type { Redis } from '../../redis/connect.ts'
import { activeCampaignsKey, inDoubtKey, laneClosedKey, queuedAgainKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { jsonText } from '../../redis/records.ts'
import { JOB, laneBacklogKeys, laneChunkKeys, laneJobKey } from '../layout.ts'

const closeScript = defineScript(import.meta.url, 'lane-close')

/** The sender of the lane was removed, so that nothing is put on it. */
export class LaneClosedError extends Error {
  override name = 'LaneClosedError'

  constructor(lane: number) {
    super(`the sender of lane ${lane} was removed`)
  }
}

/**
 * Closes a lane on which nothing waits, is worked on or is in doubt, and which has no campaign that a worker looks
 * after; returns false when there is any of it. The lane stays closed until its sender is added again, or nothing of it
 * is kept any more (forgetLane in lanes/control.ts).
 */
export async function closeLane(redis: Redis, lane: number): Promise<boolean> {
  const keys = {
    ...laneBacklogKeys(lane),
    ...laneChunkKeys(lane),
    inDoubt: inDoubtKey(lane),
    queuedAgain: queuedAgainKey(lane),
    activeCampaigns: activeCampaignsKey(lane),
    closed: laneClosedKey(lane),
  }
  return (await closeScript(redis, keys)) === 1
}

/** Whether the lane's sender was removed. */
export const isLaneClosed = async (redis: Redis, lane: number): Promise<boolean> =>
  (await redis.exists(laneClosedKey(lane))) === 1

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
