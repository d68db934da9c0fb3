// Trims the lists of messages that can be requeued, one per lane, ordered by when they ended.
import { retainedLanes } from '../../accounts/retained-lanes.ts'
import { acceptedAtMs } from '../../kernel/message-id.ts'
import { archiveOf } from '../../lanes/archive/archive.ts'
import type { Redis } from '../../redis/connect.ts'
import { requeueableKey, rootKeys } from '../../redis/keys.ts'

/** Members checked in one step of the trim. */
const AT_ONCE = 500

/**
 * Removes messages without a record from the lists. A record lives for the retention from its first claim: messages that ended longer ago
 * have expired for certain, and of the others only those accepted longer ago may have. One worker does it in each period of `everyMs`;
 * dying in the middle leaves it to the next period. Returns how many were removed.
 */
export async function trimRequeueable(
  redis: Redis,
  { nowMs, retentionMs, everyMs }: { nowMs: number; retentionMs: number; everyMs: number },
): Promise<number> {
  if ((await redis.set(rootKeys.trimmed, nowMs, 'PX', everyMs, 'NX')) === null) return 0
  let taken = 0
  for (const lane of await retainedLanes(redis)) {
    taken += await trimLane(redis, lane, nowMs - retentionMs)
  }
  return taken
}

/** The same for one lane: what was accepted before `beforeMs` and has no record. */
export async function trimLane(redis: Redis, lane: number, beforeMs: number): Promise<number> {
  const key = requeueableKey(lane)
  let taken = await redis.zremrangebyscore(key, '-inf', beforeMs)
  for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
    const [next, found] = await redis.zscan(key, cursor, 'COUNT', AT_ONCE)
    cursor = next
    const old = found.filter((ulid, i) => i % 2 === 0 && acceptedAtMs(ulid) < beforeMs)
    if (old.length === 0) continue
    const records = await archiveOf(redis).find({ lane, ulids: old }, 'progress')
    const gone = old.filter((_ulid, i) => records[i] === undefined)
    if (gone.length > 0) taken += await redis.zrem(key, ...gone)
  }
  return taken
}
