// Which workers are alive: each says so every few seconds. Times are Redis's own, so that the clocks of the machines
// do not matter.
import { z } from 'zod'
import { redisNowMs } from './clock.ts'
import type { Redis } from './connect.ts'
import { rootKeys, workerKey } from './keys.ts'
import { execOrThrow } from './transaction.ts'

/** How often a worker says that it is alive. */
export const HEARTBEAT_MS = 3_000
/** A worker that has not done so for this long is taken for dead. */
const ALIVE_FOR_MS = 10_000

/** What a worker says of itself. */
export type WorkerFacts = z.infer<typeof factsSchema>
const factsSchema = z.object({ host: z.string(), version: z.string(), lanes: z.number().int().nonnegative() })

/**
 * Says that the worker is alive, and takes workers off the list that have not said so for ALIVE_FOR_MS. Rejects when
 * Redis is away or full.
 */
export async function sendHeartbeat(redis: Redis, worker: string, facts?: WorkerFacts): Promise<void> {
  const now = await redisNowMs(redis, rootKeys.workers)
  if (facts) await redis.set(workerKey(worker), JSON.stringify(facts), 'PX', ALIVE_FOR_MS)
  await execOrThrow(
    redis
      .multi()
      .zadd(rootKeys.workers, now, worker)
      .zremrangebyscore(rootKeys.workers, '-inf', now - ALIVE_FOR_MS),
  )
}

/** Takes a worker that stops in order off the list at once. */
export async function removeHeartbeat(redis: Redis, worker: string): Promise<void> {
  await redis.zrem(rootKeys.workers, worker)
  await redis.del(workerKey(worker))
}

/** A worker that is alive: when it last said so (ms ago), and what it said of itself. */
export interface LiveWorker extends WorkerFacts {
  id: string
  seenMs: number
}

/** Workers that are shown at most. */
const SHOWN_MAX = 500

/** The workers that are alive; of an older version's no more is known than its name. */
export async function liveWorkers(redis: Redis): Promise<LiveWorker[]> {
  const now = await redisNowMs(redis, rootKeys.workers)
  const alive = await redis.zrangebyscore(
    ...([rootKeys.workers, now - ALIVE_FOR_MS, '+inf', 'WITHSCORES', 'LIMIT', 0, SHOWN_MAX] as const),
  )
  const ids = alive.filter((_, i) => i % 2 === 0)
  return Promise.all(
    ids.map(async (id, i) => {
      const facts = factsSchema.safeParse(JSON.parse((await redis.get(workerKey(id))) ?? 'null'))
      const unknown = { host: '', version: '', lanes: 0 }
      return { id, seenMs: Math.max(0, now - Number(alive[2 * i + 1])), ...(facts.success ? facts.data : unknown) }
    }),
  )
}

/** Names of the workers that have said within the last 10 s that they are alive. */
export async function namesOfLiveWorkers(redis: Redis): Promise<string[]> {
  return redis.zrangebyscore(rootKeys.workers, (await redisNowMs(redis, rootKeys.workers)) - ALIVE_FOR_MS, '+inf')
}

/** How many workers have said within the last 10 s that they are alive. */
export async function workersAlive(redis: Redis): Promise<number> {
  return redis.zcount(rootKeys.workers, (await redisNowMs(redis, rootKeys.workers)) - ALIVE_FOR_MS, '+inf')
}
