// Events as they are pulled: from where somebody has come to, outbox by outbox, each in the order in which it happened.
import { listKeptSenders } from '../../accounts/store/senders.ts'
import type { Redis } from '../../redis/connect.ts'
import type { EventDocument } from '../event-schema.ts'
import type { EventType } from '../event-types.ts'
import type { PlacedEvent } from '../outbox-entry.ts'
import type { Place, Places } from '../pull-cursor.ts'
import { documentsOf, typeOf } from './documents.ts'
import { ACCOUNT_SOURCE } from './listening.ts'
import { readRange } from './outbox.ts'

/** Entries that one request looks through at most; it answers less than it was asked for rather than late. */
const LOOKED_AT_MOST = 5_000
const ENTRIES_AT_ONCE = 200

/** What somebody pulls. */
export interface Pull {
  account: number
  after: Places
  /** All of them without. */
  types: ReadonlySet<EventType> | undefined
  limit: number
  includeContent: boolean
}

/** A page of events, and where it ends: where the next one begins, also when nothing more is there yet. */
export async function pullEvents(redis: Redis, pull: Pull): Promise<{ events: EventDocument[]; next: Places }> {
  const senders = await listKeptSenders(redis, pull.account)
  const byLane = new Map(senders.map((sender) => [sender.id, sender]))
  const types = pull.types && [...pull.types]
  const next = new Map<number, Place>()
  const wanted: PlacedEvent[] = []
  let looked = 0
  // Those that were read longest ago first: a busy one must not keep others from being read for ever.
  const readUpTo = (source: number): number => Number.parseInt(pull.after.get(source)?.entry ?? '0', 10)
  const sources = [ACCOUNT_SOURCE, ...byLane.keys()].sort((a, b) => readUpTo(a) - readUpTo(b))
  for (const source of sources) {
    let place = pull.after.get(source)
    while (wanted.length < pull.limit && looked < LOOKED_AT_MOST) {
      const from = place?.entry ?? '-'
      const entries = await readRange(redis, pull.account, source, { from, to: '+', most: ENTRIES_AT_ONCE })
      looked += entries.length
      const before = place
      for (const { entry, events } of entries) {
        const seen = before?.entry === entry ? before.lines : 0
        for (const event of events) {
          if (event.line < seen || wanted.length >= pull.limit) continue
          const type = typeOf(event.occurrence, types)
          if (type !== undefined && (pull.types?.has(type) ?? true)) wanted.push(event)
          place = { entry, lines: event.line + 1 }
        }
        if (wanted.length >= pull.limit) break
        if (events.length === 0) place = { entry, lines: place?.entry === entry ? place.lines : 0 }
      }
      if (entries.length < ENTRIES_AT_ONCE) break
    }
    if (place) next.set(source, place)
  }
  const telling = {
    redis,
    account: pull.account,
    includeContent: pull.includeContent,
    types,
    senderOf: (lane: number) => byLane.get(lane),
  }
  const documents = await documentsOf(telling, wanted)
  return { events: documents.filter((each) => each !== undefined), next }
}
