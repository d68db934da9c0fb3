// Pulls events from a cursor on, outbox by outbox, each in the order in which they happened.

import { listRetainedSenders } from '../../accounts/senders.ts'
import type { EventDocument, EventType } from '../../model/events/event-schema.ts'
import type { PlacedEvent } from '../../model/events/outbox-entry.ts'
import type { Redis } from '../../redis/connect.ts'
import { documentsOf, typeOf } from './documents.ts'
import { ACCOUNT_SOURCE } from './outbox.ts'
import { readRange } from './outbox-entries.ts'
import type { Cursor, OutboxCursor } from './pull-cursor.ts'

/** Entries that one request reads at most: it returns fewer events rather than late. */
const MOST_READ = 5_000
const ENTRIES_AT_ONCE = 200

/** What a client pulls. */
export interface Pull {
  account: number
  after: Cursor
  /** All of them without. */
  types: ReadonlySet<EventType> | undefined
  limit: number
  includeContent: boolean
}

/** A page of events, and the cursor after it, also when there is nothing more yet. */
export async function pullEvents(redis: Redis, pull: Pull): Promise<{ events: EventDocument[]; next: Cursor }> {
  const senders = await listRetainedSenders(redis, pull.account)
  const byLane = new Map(senders.map((sender) => [sender.id, sender]))
  const types = pull.types && [...pull.types]
  const next = new Map<number, OutboxCursor>()
  const wanted: PlacedEvent[] = []
  let readCount = 0
  // The least recently read first: a busy outbox must not starve others.
  const readUpTo = (source: number): number => Number.parseInt(pull.after.get(source)?.entry ?? '0', 10)
  const sources = [ACCOUNT_SOURCE, ...byLane.keys()].sort((a, b) => readUpTo(a) - readUpTo(b))
  for (const source of sources) {
    let at = pull.after.get(source)
    while (wanted.length < pull.limit && readCount < MOST_READ) {
      const from = at?.entry ?? '-'
      const entries = await readRange(redis, pull.account, source, { from, to: '+', most: ENTRIES_AT_ONCE })
      readCount += entries.length
      const before = at
      for (const { entry, events } of entries) {
        const seen = before?.entry === entry ? before.lines : 0
        for (const event of events) {
          if (event.line < seen || wanted.length >= pull.limit) continue
          const type = typeOf(event.occurrence, types)
          if (type !== undefined && (pull.types?.has(type) ?? true)) wanted.push(event)
          at = { entry, lines: event.line + 1 }
        }
        if (wanted.length >= pull.limit) break
        if (events.length === 0) at = { entry, lines: at?.entry === entry ? at.lines : 0 }
      }
      if (entries.length < ENTRIES_AT_ONCE) break
    }
    if (at) next.set(source, at)
  }
  const context = {
    redis,
    account: pull.account,
    includeContent: pull.includeContent,
    types,
    senderOf: (lane: number) => byLane.get(lane),
  }
  const documents = await documentsOf(context, wanted)
  return { events: documents.filter((each) => each !== undefined), next }
}
