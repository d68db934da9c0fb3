// Jobs of a lane that wait until a time, the next first: messages with a `send_at`, and those that are tried again later.
import type { Redis } from '../redis/connect.ts'
import { delayedScore, delayedUntil, laneBacklogKeys } from './bullmq/layout.ts'

/** A job and when it is due: `score` as BullMQ keeps it, which tells apart jobs of one millisecond, and in epoch ms. */
export interface DelayedJob {
  lane: number
  id: string
  score: number
  dueMs: number
}

/** Where a page of them ended. */
export type DelayedPosition = Pick<DelayedJob, 'id' | 'score'>

/** The position that everything due at or after this time follows (epoch ms). */
export const positionAt = (ms: number): DelayedPosition => ({ score: delayedScore(ms), id: '' })

/** Up to `most` of the jobs that follow `after` and are due before `untilMs` (epoch ms). */
export async function delayedJobs(
  redis: Redis,
  lane: number,
  { after, untilMs, most }: { after: DelayedPosition; untilMs: number; most: number },
): Promise<DelayedJob[]> {
  const { delayed } = laneBacklogKeys(lane)
  const { score, id } = after
  const [ofOneScore, later] = await Promise.all([
    redis.zrangebyscore(delayed, score, score, 'WITHSCORES'),
    redis.zrangebyscore(delayed, `(${score}`, `(${delayedScore(untilMs)}`, 'WITHSCORES', 'LIMIT', 0, most),
  ])
  const jobs = [ofOneScore, later].flatMap((found) =>
    found.flatMap((name, i): DelayedJob[] => {
      const text = found[i + 1]
      return i % 2 === 1 || text === undefined
        ? []
        : [{ lane, id: name, score: Number(text), dueMs: Math.floor(delayedUntil(text)) }]
    }),
  )
  return jobs.filter((job) => job.dueMs < untilMs && isAfter(job, { score, id })).slice(0, most)
}

/** Whether the first comes later than the second. */
export const isAfter = (one: DelayedPosition, other: DelayedPosition): boolean =>
  one.score === other.score ? one.id > other.id : one.score > other.score
