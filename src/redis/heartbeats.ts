// Which workers are alive: each says so every few seconds. Times are Redis's own, so that the clocks of the machines
// do not matter.
import { redisNowMs } from './clock.ts'
import type { Redis } from './connect.ts'
import { rootKeys } from './keys.ts'
import { execOrThrow } from './transaction.ts'

/** How often a worker says that it is alive. */
export const HEARTBEAT_MS = 3_000
/** A worker that has not done so for this long is taken for dead. */
const ALIVE_FOR_MS = 10_000

/**
 * Says that the worker is alive, and takes workers off the list that have not said so for ALIVE_FOR_MS. Rejects when
 * Redis is away or full.
 */
export async function sendHeartbeat(redis: Redis, worker: string): Promise<void> {
  const now = await redisNowMs(redis, rootKeys.workers)
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
}

/** How many workers have said within the last 10 s that they are alive. */
export async function workersAlive(redis: Redis): Promise<number> {
  return redis.zcount(rootKeys.workers, (await redisNowMs(redis, rootKeys.workers)) - ALIVE_FOR_MS, '+inf')
}
