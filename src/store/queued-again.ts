// The list of messages that were queued again and not claimed since. Whoever queues one again adds its job as well, but
// may die before, or the job may be gone by a pause: the sweep goes through the list to make sure.
import type { Redis } from './redis.ts'
import { openKey, queuedAgainKey } from './redis-keys.ts'

/** Has the sweep look at `atMs` whether messages of the list have a job. */
export async function lookForJob(redis: Redis, lane: number, ulids: readonly string[], atMs: number): Promise<void> {
  if (ulids.length > 0) await redis.zadd(queuedAgainKey(lane), 'XX', ...ulids.flatMap((ulid) => [atMs, ulid]))
}

/** Nothing is to be made sure of any more. */
export async function lookForJobNoMore(redis: Redis, lane: number, ulids: readonly string[]): Promise<void> {
  if (ulids.length > 0) await redis.zrem(queuedAgainKey(lane), ...ulids)
}

/** Takes a queued message from the list of those in flight to this one. Dying in between leaves it on both, for a look. */
export async function noteQueuedAgain(redis: Redis, lane: number, ulid: string, atMs: number): Promise<void> {
  await redis.zadd(queuedAgainKey(lane), atMs, ulid)
  await redis.zrem(openKey(lane), ulid)
}
