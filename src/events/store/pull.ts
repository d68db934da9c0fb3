// Pulls events from a cursor on, outbox by outbox, each in the order in which they happened.
import { listKeptSenders } from '../../accounts/senders.ts'
import type { EventDocument, EventType } from '../../model/events/event-schema.ts'
import type { PlacedEvent } from '../../model/events/outbox-entry.ts'
import type { Redis } from '../../redis/connect.ts'
import { documentsOf, typeOf } from './documents.ts'
import { ACCOUNT_SOURCE, readRange } from './outbox.ts'

/** Entries that one request reads at most: it returns fewer events rather than late. */
const LOOKED_AT_MOST = 5_000
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
  const senders = await listKeptSenders(redis, pull.account)
  const byLane = new Map(senders.map((sender) => [sender.id, sender]))
  const types = pull.types && [...pull.types]
  const next = new Map<number, OutboxCursor>()
  const wanted: PlacedEvent[] = []
  let looked = 0
  // The least recently read first: a busy outbox must not starve others.
  const readUpTo = (source: number): number => Number.parseInt(pull.after.get(source)?.entry ?? '0', 10)
  const sources = [ACCOUNT_SOURCE, ...byLane.keys()].sort((a, b) => readUpTo(a) - readUpTo(b))
  for (const source of sources) {
    let at = pull.after.get(source)
    while (wanted.length < pull.limit && looked < LOOKED_AT_MOST) {
      const from = at?.entry ?? '-'
      const entries = await readRange(redis, pull.account, source, { from, to: '+', most: ENTRIES_AT_ONCE })
      looked += entries.length
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

// The cursor of a client that pulls events: the last event seen of each outbox. It is opaque to clients, and
// short, because an account may have hundreds of lanes: 8 to 12 bytes each. Pure.

/** How far one outbox was read: up to an entry, and so many of its lines. */
export interface OutboxCursor {
  entry: string
  lines: number
}
export type Cursor = ReadonlyMap<number, OutboxCursor>

const VERSION = 1
const ENTRY = /^(\d{1,15})-(\d{1,10})$/

/** A cursor as text, base64url. */
export function writeCursor(cursor: Cursor): string {
  const bytes: number[] = [VERSION]
  for (const [source, { entry, lines }] of [...cursor].sort(([a], [b]) => a - b)) {
    const [, ms = '0', seq = '0'] = ENTRY.exec(entry) ?? []
    for (const number of [source, Number(ms), Number(seq), lines]) pushNumber(bytes, number)
  }
  return Buffer.from(bytes).toString('base64url')
}

/** A cursor from its text; undefined for text that is none. */
export function readCursor(text: string): Cursor | undefined {
  if (!/^[\w-]+$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  if (bytes[0] !== VERSION) return undefined
  const numbers: number[] = []
  let number = 0
  let unit = 1
  for (const byte of bytes.subarray(1)) {
    number += (byte & 127) * unit
    // Endless zeros add nothing, until the unit is infinite and the number NaN.
    if (number > Number.MAX_SAFE_INTEGER || unit > Number.MAX_SAFE_INTEGER) return undefined
    if (byte < 128) {
      numbers.push(number)
      number = 0
      unit = 1
    } else unit *= 128
  }
  if (unit !== 1 || numbers.length % 4 !== 0) return undefined
  const cursor = new Map<number, OutboxCursor>()
  for (let i = 0; i < numbers.length; i += 4) {
    const [source = 0, ms = 0, seq = 0, lines = 0] = numbers.slice(i, i + 4)
    cursor.set(source, { entry: `${ms}-${seq}`, lines })
  }
  return cursor
}

/** Seven bits a byte, the low ones first; the highest bit says that more follow. */
function pushNumber(bytes: number[], number: number): void {
  let rest = number
  while (rest >= 128) {
    bytes.push((rest % 128) | 128)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
}
