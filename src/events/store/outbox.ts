// Outboxes as they are read. They are written by those whose steps they tell of.
import type { Redis } from '../../redis/connect.ts'
import { ENTRY_FIELD, type PlacedEvent, readEntry } from '../outbox-entry.ts'
import { sourceKey } from './listening.ts'

/** An entry and its events; none in one that only opens the outbox. */
export interface OutboxEntry {
  source: number
  entry: string
  events: readonly PlacedEvent[]
}

/** The next entries after one, at most `most`, in the order they were written. */
export async function readAfter(
  redis: Redis,
  account: number,
  source: number,
  after: string,
  most: number,
): Promise<OutboxEntry[]> {
  return readRange(redis, account, source, { from: `(${after}`, to: '+', most })
}

/** The entries of a range of ids, both ends as XRANGE takes them. */
export async function readRange(
  redis: Redis,
  account: number,
  source: number,
  range: { from: string; to: string; most: number },
): Promise<OutboxEntry[]> {
  const found = await redis.xrange(sourceKey(account, source), range.from, range.to, 'COUNT', range.most)
  return found.map(([entry, fields]) => ({
    source,
    entry,
    events: readEntry(source, entry, fields[fields.indexOf(ENTRY_FIELD) + 1] ?? ''),
  }))
}
