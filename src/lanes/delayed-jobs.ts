// Jobs of a lane that wait until a time, the next first: messages with a `send_at`, and those that are tried again later.
import { z } from 'zod'
import type { Redis } from '../redis/connect.ts'
import { defineScript } from '../redis/lua.ts'
import { delayedScore, delayedUntil, laneBacklogKeys } from './bullmq/layout.ts'

const delayedScript = defineScript(import.meta.url, 'lane-delayed')
const idsAndScores = z.array(z.string())

/** A job and when it is due (epoch ms). Jobs of one millisecond are in the order of their scores, then of their ids. */
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

/** Up to `most` of the jobs that follow `after` and are due before `untilMs` (epoch ms). No more than that is read. */
export async function delayedJobs(
  redis: Redis,
  lane: number,
  { after: { score, id }, untilMs, most }: { after: DelayedPosition; untilMs: number; most: number },
): Promise<DelayedJob[]> {
  const { delayed } = laneBacklogKeys(lane)
  const found = idsAndScores.parse(await delayedScript(redis, { delayed }, { score, id, most }))
  const jobs: DelayedJob[] = []
  for (let i = 0; i + 1 < found.length; i += 2) {
    const [name = '', text = ''] = found.slice(i, i + 2)
    const dueMs = Math.floor(delayedUntil(text))
    if (dueMs >= untilMs) break
    jobs.push({ lane, id: name, score: Number(text), dueMs })
  }
  return jobs
}

/** Whether the first comes later than the second. */
export const isAfter = (one: DelayedPosition, other: DelayedPosition): boolean =>
  one.score === other.score ? one.id > other.id : one.score > other.score
