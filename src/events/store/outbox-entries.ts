// Reads the entries of an outbox. They are written in the steps that change a message, a campaign or a sender.

import { ENTRY, type PlacedEvent, readEntry } from '../../model/events/outbox-entry.ts'
import type { Redis } from '../../redis/connect.ts'
import { sourceKey } from './outbox.ts'

/** An entry and its events; none in one that only opens the outbox. */
export interface OutboxEntry {
  source: number
  entry: string
  events: readonly PlacedEvent[]
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
    events: readEntry(source, entry, fields[fields.indexOf(ENTRY.events) + 1] ?? ''),
  }))
}
