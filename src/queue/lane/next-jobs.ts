// The jobs that are next on a lane. Reading them takes nothing: the claim of a message takes its job, in the same step,
// so a worker may die anywhere before that and nothing has happened.

import type { Redis } from '../../redis/connect.ts'
import { jobDeathsKey, laneReadersKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { laneBacklogKeys, laneCounterKey, laneDeadLettersKey, laneJobKey, laneMetaKey } from '../layout.ts'

const nextScript = defineScript(import.meta.url, 'lane-next')
const deadLetterScript = defineScript(import.meta.url, 'lane-dead-letter')

/** A job that waits: its id is that of the message, its payload JSON. */
export interface WaitingJob {
  id: string
  data: string
  /** Workers that died over it while they had read nothing else. */
  deaths: number
}

/** What a lane has next. */
export interface NextJobs {
  isPaused: boolean
  /** There is more, although fewer were read than were asked for. */
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
  if (typeof state !== 'string' || typeof dueMs !== 'number') throw new Error(`lane ${lane} did not tell what is next`)
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

/** The worker claims nothing of what it has read; others may read it. */
export async function releaseRead(redis: Redis, lane: number, by: string): Promise<void> {
  await redis.hdel(laneReadersKey(lane), by)
}

/**
 * Makes a dead letter of a waiting job, with the reason, for people to look at; those older than `keptMs` are removed.
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
