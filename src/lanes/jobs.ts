// Reads the jobs of messages that wait on a lane. A job is the record of its message until the first claim. Reading takes nothing: the
// claim of a message takes its job in the same step, so a worker that dies before that has changed nothing.

import { sendPayloadSchema } from '../jobs/send.ts'
import { messageId } from '../kernel/message-id.ts'
import type { Redis } from '../redis/connect.ts'
import { jobDeathsKey, laneReadersKey } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { jsonText } from '../redis/records.ts'
import {
  JOB,
  laneBacklogKeys,
  laneCounterKey,
  laneDeadLettersKey,
  laneJobKey,
  laneMetaKey,
  META,
} from './bullmq/layout.ts'

/** The payload of a job, from its text. */
export const payloadText = jsonText.pipe(sendPayloadSchema)

/** The payload of the job of a message; null without a job. `isDead`: it is a dead letter. */
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

const nextScript = defineScript(import.meta.url, 'lane-next', { names: { JOB, META } })
const deadLetterScript = defineScript(import.meta.url, 'lane-dead-letter', { names: { JOB } })

/** A job that waits: its id is that of the message, its payload JSON. */
export interface WaitingJob {
  id: string
  data: string
  /** Workers that died over it while they had read nothing else. */
  deaths: number
}

/** The next jobs of a lane. */
export interface NextJobs {
  isPaused: boolean
  /** There is more, although fewer were read than requested. */
  hasMore: boolean
  /** Until the next delayed job is due (ms); undefined when there is none. */
  dueInMs: number | undefined
  jobs: WaitingJob[]
}

/**
 * Up to `most` jobs in the order in which they are to be sent, without those that other workers are reading.
 * `firstOnly`: only transactional ones. None of a paused lane. The worker `by` is taken to have died over what it does
 * not claim, or release with `releaseRead`, within two seconds. Rejects when Redis is away.
 */
export async function nextJobs(
  redis: Redis,
  lane: number,
  { by, most, firstOnly = false }: { by: string; most: number; firstOnly?: boolean },
): Promise<NextJobs> {
  const { waiting, prioritized, delayed } = laneBacklogKeys(lane)
  const reply = await nextScript(
    redis,
    {
      ...{ waiting, prioritized, delayed, meta: laneMetaKey(lane), counter: laneCounterKey(lane) },
      ...{ readers: laneReadersKey(lane), deaths: jobDeathsKey(lane) },
    },
    { jobs: laneJobKey(lane, ''), most, firstOnly, by },
  )
  // By hand: each job has three entries.
  const [state, dueMs, ...texts]: unknown[] = Array.isArray(reply) ? reply : []
  if (typeof state !== 'string' || typeof dueMs !== 'number') throw new Error(`lane ${lane} gave no next jobs`)
  const jobs: WaitingJob[] = []
  for (let i = 0; i + 2 < texts.length; i += 3) {
    jobs.push({ id: String(texts[i]), data: String(texts[i + 1]), deaths: Number(texts[i + 2]) })
  }
  return {
    isPaused: state === 'paused',
    hasMore: state === 'more',
    dueInMs: dueMs < 0 ? undefined : dueMs,
    jobs,
  }
}

/** The worker will claim none of the jobs that it has read; others may read them. */
export async function releaseRead(redis: Redis, lane: number, by: string): Promise<void> {
  await redis.hdel(laneReadersKey(lane), by)
}

/**
 * Makes a dead letter of a waiting job, with the reason, for people to inspect; dead letters older than `keptMs` are removed.
 * False when the job does not wait (any more).
 */
export async function deadLetter(
  redis: Redis,
  lane: number,
  { id, reason, keptMs }: { id: string; reason: string; keptMs: number },
): Promise<boolean> {
  const { waiting, prioritized } = laneBacklogKeys(lane)
  const keys = { waiting, prioritized, failed: laneDeadLettersKey(lane), deaths: jobDeathsKey(lane) }
  return (await deadLetterScript(redis, keys, { jobs: laneJobKey(lane, ''), id, reason, keptMs })) === 1
}
