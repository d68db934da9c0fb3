// The lists of requeueable messages, one per lane, ordered by when they ended: read page by page, and trimmed hourly.
import { z } from 'zod'
import { retainedLanes } from '../../accounts/retained-lanes.ts'
import { acceptedAtMs } from '../../kernel/message-id.ts'
import { laneDeadLettersKey } from '../../lanes/bullmq/layout.ts'
import type { Redis } from '../../redis/connect.ts'
import { messageKey, requeueableKey, rootKeys } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'

/** Where a page begins: after this member of the list. */
export interface ListPosition {
  /** Epoch ms. */
  score: number
  member: string
}

const pageScript = defineScript(import.meta.url, 'list-page')
const pageReply = z.array(z.string())

/** Members after a position that ended at `untilMs` or before, in the order in which they ended. */
export async function pageOf(
  redis: Redis,
  key: string,
  after: ListPosition,
  { untilMs, most }: { untilMs: number; most: number },
): Promise<ListPosition[]> {
  const reply = pageReply.parse(
    await pageScript(redis, { list: key }, { after: after.score, member: after.member, mostScore: untilMs, most }),
  )
  const page: ListPosition[] = []
  for (let i = 0; i < reply.length; i += 2) page.push({ member: reply[i] ?? '', score: Number(reply[i + 1]) })
  return page
}

/** The lists of a lane: messages with a record, and dead letters, which have none. */
export const LISTS = ['messages', 'dead_letters'] as const
export type List = (typeof LISTS)[number]

/** The Redis key of a list, a ZSET of members by the time (epoch ms) at which they ended. */
export const listKey = (lane: number, list: List): string =>
  list === 'messages' ? requeueableKey(lane) : laneDeadLettersKey(lane)

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
    const pipeline = redis.pipeline()
    for (const ulid of old) pipeline.exists(messageKey(lane, ulid))
    const replies = (await pipeline.exec()) ?? []
    const gone = old.filter((_ulid, i) => replies[i]?.[0] === null && replies[i]?.[1] === 0)
    if (gone.length > 0) taken += await redis.zrem(key, ...gone)
  }
  return taken
}
