// Messages that ended without being delivered, in the order in which they ended, page by page: a job that dies goes on after
// the last page that it has done.

import type { Redis } from '../../redis/connect.ts'
import { requeueableKey } from '../../redis/keys.ts'
import { type ListPosition, pageOf } from '../list-page.ts'
import { type Found, type KeptMessage, readView } from './find.ts'

/** Which page of a lane's messages. */
export interface EndedQuery {
  lane: number
  /** After this time (epoch ms) and, of those of that time, this message. */
  endedAfter: ListPosition
  /** At this time or before. */
  endedUntilMs: number
  most: number
}

/** A page; fewer than the query allows are the last. */
export interface EndedPage {
  messages: { ulid: string; message: Found<KeptMessage> }[]
  /** Where the next page begins; undefined after an empty one. */
  last: ListPosition | undefined
}

/** The page of a query. A message whose record is gone is in it, and in no later one. */
export async function readEnded(redis: Redis, query: EndedQuery): Promise<EndedPage> {
  const { lane, endedAfter, endedUntilMs, most } = query
  const key = requeueableKey(lane)
  const page = await pageOf(redis, key, endedAfter, { mostScore: endedUntilMs, most })
  const ulids = page.map(({ member }) => member)
  const found = await readView.whole(redis, lane, ulids)
  const gone = ulids.filter((_ulid, i) => found[i] === undefined)
  if (gone.length > 0) await redis.zrem(key, ...gone)
  return { messages: ulids.map((ulid, i) => ({ ulid, message: found[i] })), last: page.at(-1) }
}
