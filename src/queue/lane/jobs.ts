// The jobs of messages on their lane: adding many in one step, together with the ids of the messages in the lane's index;
// reading them, for until a message is claimed its job is its record; and closing the lane for good.
import { sendPayloadSchema } from '../../jobs/send.ts'
import { messageId } from '../../messages/message-id.ts'
import { type IndexedMessage, packForIndex } from '../../messages/store/message-index.ts'
import type { Redis } from '../../redis/connect.ts'
import { activeCampaignsKey, inDoubtKey, laneClosedKey, messageIndexKey, queuedAgainKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { jsonText } from '../../redis/records.ts'
import { JOB, laneBacklogKeys, laneChunkKeys, laneCounterKey, laneJobKey } from '../layout.ts'

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
 * is kept any more (forget-lane.ts).
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

const addScript = defineScript(import.meta.url, 'lane-add')

/** A job that is to wait on its lane. */
export interface LaneJob {
  id: string
  /** JSON. */
  data: string
  /** When the message was accepted (epoch ms). */
  timestamp: number
  /** How long it is put off from now on (ms), whole; 0 when it is not. */
  waitMs: number
  /** When it is due at the earliest (epoch ms); 0 when it may go at once. */
  notBefore: number
  /** 0 for one that goes first, else BullMQ's priority. */
  priority: number
}

/**
 * Adds the messages that are to be `indexed` to the lane's index, for `retentionMs` after their validity, then jobs
 * called `name` to its queue, except those that are there. Rejects when Redis is away or full: then none was added, or
 * all were and the answer was lost. Rejects with a LaneClosedError, and adds none, once the lane's sender was removed.
 */
export async function addJobs(
  redis: Redis,
  lane: number,
  { name, jobs, indexed }: { name: string; jobs: readonly LaneJob[]; indexed: readonly IndexedMessage[] },
  retentionMs: number,
): Promise<void> {
  const { waiting, prioritized, delayed } = laneBacklogKeys(lane)
  const said = await addScript(
    redis,
    {
      ...{ waiting, prioritized, delayed, counter: laneCounterKey(lane) },
      ...{ index: messageIndexKey(lane), closed: laneClosedKey(lane) },
    },
    {
      jobs: laneJobKey(lane, ''),
      name,
      ids: jobs.map(({ id }) => id),
      payloads: jobs.map(({ data }) => data),
      times: jobs.map(({ timestamp }) => timestamp),
      waits: jobs.map(({ waitMs }) => waitMs),
      notBefore: jobs.map(({ notBefore }) => notBefore),
      priorities: jobs.map(({ priority }) => priority),
      ...(indexed.length > 0 ? packForIndex(indexed, retentionMs) : {}),
    },
  )
  if (said === 'closed') throw new LaneClosedError(lane)
}
