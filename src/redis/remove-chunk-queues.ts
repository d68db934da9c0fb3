// A step of migrations.ts. Up to layout 1 messages of campaigns waited in a second BullMQ queue of their lane, as jobs that named places of
// the campaign's list (`chunk_<campaign>_<from>_<count>_<by>`). Nothing else is stored in them: a campaign feeds again whom it has not
// sent to, once it has come to the end of its list.
import type { Redis } from './connect.ts'
import { lanePrefix, rootKeys } from './keys.ts'

/** Lanes whose queues are removed in one round trip. */
const LANES_AT_ONCE = 100

/** Removes the queues of all lanes. Doing it again, or dying in the middle and beginning anew, changes nothing more. */
export async function removeChunkQueues(redis: Redis): Promise<void> {
  const lanes = await redis.hkeys(rootKeys.lanes)
  const removed = (await redis.zrange(rootKeys.removedLanes, '0', '-1')).flatMap((entry) => entry.split(' ')[1] ?? [])
  const all = [...new Set([...lanes, ...removed])].map(Number)
  for (let from = 0; from < all.length; from += LANES_AT_ONCE) {
    await Promise.all(all.slice(from, from + LANES_AT_ONCE).map((lane) => removeQueue(redis, lane)))
  }
}

async function removeQueue(redis: Redis, lane: number): Promise<void> {
  const key = (suffix: string): string => `${lanePrefix(lane)}:lane-${lane}-chunks:${suffix}`
  const lists = await Promise.all(['wait', 'paused', 'active'].map((name) => redis.lrange(key(name), 0, '-1')))
  const sets = await Promise.all(
    ['delayed', 'prioritized', 'completed', 'failed'].map((name) => redis.zrange(key(name), '0', '-1')),
  )
  // The jobs first: should this die before the lists are gone, they name the rest.
  for (const id of [...lists, ...sets].flat()) await redis.unlink(key(id), key(`${id}:lock`), key(`${id}:logs`))
  await redis.unlink(...NAMES.map(key))
}

/** What BullMQ keeps of a queue. */
const NAMES = [
  ...['wait', 'paused', 'active', 'delayed', 'prioritized', 'completed', 'failed', 'waiting-children'],
  ...['meta', 'id', 'events', 'limiter', 'marker', 'pc', 'stalled', 'stalled-check', 'repeat', 'de'],
]
