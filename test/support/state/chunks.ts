// Chunks of campaigns that stand on a lane: what waits, what is in hand, and ways to take and to lose them.
import { laneChunkKeys, laneChunkQueue } from '../../../src/queue/layout.ts'
import { openQueue } from '../../../src/queue/open-queue.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import { lanePrefix } from '../../../src/redis/keys.ts'
import { takerOf } from './workers.ts'

/** Names of the chunks that wait on the lane, the next one first. */
export const chunksWaitingOn = async (redis: Redis, lane: number): Promise<string[]> =>
  (await redis.lrange(laneChunkKeys(lane).chunksWaiting, 0, '-1')).reverse()

/** Takes chunks of the lane by hand. */
export const takeChunksByHand = (redis: Redis, lane: number) => takerOf(redis, laneChunkQueue(lane), lanePrefix(lane))

/** Puts something among the chunks of the lane that is none. */
export async function addAmongChunks(redis: Redis, lane: number, name: string): Promise<void> {
  const queue = openQueue(redis, laneChunkQueue(lane), lanePrefix(lane))
  await queue.add('other', {}, { jobId: name })
  await queue.close()
}

/** The lane loses all chunks that wait on it; how many there were. */
export async function loseChunks(redis: Redis, lane: number): Promise<number> {
  const { chunksWaiting } = laneChunkKeys(lane)
  const lost = await redis.lrange(chunksWaiting, 0, '-1')
  const prefix = `${lanePrefix(lane)}:${laneChunkQueue(lane)}`
  await redis
    .multi()
    .del(chunksWaiting, ...lost.map((job) => `${prefix}:${job}`))
    .exec()
  return lost.length
}

/** The lane loses one chunk. */
export async function loseChunk(redis: Redis, lane: number, name: string): Promise<void> {
  const queue = openQueue(redis, laneChunkQueue(lane), lanePrefix(lane))
  await queue.remove(name)
  await queue.close()
}

/** Nobody knows any more that the chunk is in somebody's hands. */
export const forgetInHand = (redis: Redis, lane: number, name: string) =>
  redis.lrem(laneChunkKeys(lane).chunksActive, 0, name)

/** These chunks stand on the lane, and no other: they have names and no jobs. */
export async function putChunks(
  redis: Redis,
  lane: number,
  names: Readonly<Record<'waiting' | 'delayed' | 'inHand', readonly string[]>>,
): Promise<void> {
  const { chunksWaiting, chunksDelayed, chunksActive } = laneChunkKeys(lane)
  const adding = redis.multi().del(chunksWaiting, chunksDelayed, chunksActive)
  for (const name of names.waiting) adding.lpush(chunksWaiting, name)
  for (const name of names.inHand) adding.lpush(chunksActive, name)
  for (const [i, name] of names.delayed.entries()) adding.zadd(chunksDelayed, i, name)
  await adding.exec()
}
