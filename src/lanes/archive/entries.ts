// Entries of the message index over all lanes, newest first. Each source is a segment of the index or a short list. A source is
// read only when its upper bound is next.

import { ID_BYTES, PERSON_HASH_BYTES, packPlace } from '../../kernel/message-id.ts'
import type { Redis } from '../../redis/connect.ts'
import {
  CAMPAIGN_ID_BYTES,
  placesIn,
  placesOfPerson,
  RECEIVED_ID_BYTES,
  readSegment,
  type Segment,
} from './index-segments.ts'

/** A message as the index has it. `key` is its packed id, a character per byte, which sorts like the ids. */
export interface Entry {
  lane: number
  key: string
}

/** A position between entries: those before it were examined. */
export type Cursor = Entry

/** What entries are read from, a piece at a time. */
export interface Source {
  /** No entry that is still to be read has a greater key; undefined once all are read. */
  bound: string | undefined
  /** The next piece, in any order. Sets `bound` anew. */
  read: () => Promise<Entry[]>
}

/** The greatest key of a time (epoch ms). */
export function lastKeyOf(ms: number): string {
  const bytes = Buffer.alloc(16, 0xff)
  bytes.writeUIntBE(Math.max(0, Math.min(Math.floor(ms), 2 ** 48 - 1)), 0, 6)
  return bytes.toString('latin1')
}

/** Newest first; lanes only tell apart what has one id. */
export function compareEntries(a: Entry, b: Entry): number {
  if (a.key !== b.key) return a.key < b.key ? 1 : -1
  return b.lane - a.lane
}

/**
 * Entries of all sources in order, each once, in pieces; a piece may be empty. `cursor`: whatever is not after it was in a
 * piece. Sources are read one, two, four at a time and so on, up to `atOnce`: most who ask want the newest only.
 */
export async function* inOrder(
  sources: readonly Source[],
  atOnce: number,
): AsyncGenerator<{ entries: Entry[]; cursor: Cursor | undefined }> {
  const unread = [...sources]
  let known: Entry[] = []
  let last: Entry | undefined
  for (let most = 1; ; most = Math.min(2 * most, atOnce)) {
    unread.sort((a, b) => ((a.bound ?? '') < (b.bound ?? '') ? 1 : -1))
    const next = unread.slice(0, most)
    for (const piece of await Promise.all(next.map((source) => source.read()))) known = known.concat(piece)
    for (let i = unread.length - 1; i >= 0; i -= 1) if (unread[i]?.bound === undefined) unread.splice(i, 1)
    const line = unread.reduce((most, { bound = '' }) => (bound > most ? bound : most), '')
    const ready = known.filter(({ key }) => key > line).sort(compareEntries)
    known = known.filter(({ key }) => key <= line)
    const entries = ready.filter((entry, i) => compareEntries(ready[i - 1] ?? last ?? NONE, entry) !== 0)
    last = entries.at(-1) ?? last
    if (unread.length === 0) {
      yield { entries, cursor: undefined }
      return
    }
    yield { entries, cursor: { lane: Number.MAX_SAFE_INTEGER, key: line } }
  }
}

const NONE: Entry = { lane: 0, key: '' }

const LENGTHS = [16, 27]
const HEAD = 12

/** A cursor as text, for the account that asked. */
export function writeCursor(account: number, { lane, key }: Cursor): string {
  const head = Buffer.alloc(HEAD)
  head.writeUIntBE(account, 0, 6)
  head.writeUIntBE(Math.min(lane, 2 ** 48 - 1), 6, 6)
  return Buffer.concat([head, Buffer.from(key, 'latin1')]).toString('base64url')
}

/** A cursor from its text; undefined for any other text, and for a cursor of another account. */
export function readCursor(account: number, text: string): Cursor | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.toString('base64url') !== text || !LENGTHS.includes(bytes.length - HEAD)) return undefined
  if (bytes.readUIntBE(0, 6) !== account) return undefined
  return { lane: bytes.readUIntBE(6, 6), key: bytes.subarray(HEAD).toString('latin1') }
}

/** Places of a campaign that are read at a time, with and without a person to look for. */
const PLACES = 8_192
const PLACES_OF_ONE = 65_536

/** The names of the person that messages were sent to or came from; undefined: anybody. */
type Names = readonly string[] | undefined

/** The source of a segment. */
export function sourceOf(redis: Redis, segment: Segment, names: Names, top: string): Source {
  const bound = least(lastKeyOf(segment.newestMs), top)
  return segment.kind === 'campaign'
    ? campaignSource(redis, segment, names, bound)
    : segmentSource(redis, segment, names, bound)
}

const least = (a: string, b: string): string => (a < b ? a : b)

function segmentSource(redis: Redis, segment: Segment, names: Names, bound: string): Source {
  const bytes = segment.kind === 'sent' ? ID_BYTES : RECEIVED_ID_BYTES
  const source: Source = {
    bound,
    async read() {
      source.bound = undefined
      const places =
        names === undefined ? undefined : placesOfPerson(await readSegment(redis, segment, 'hashes'), ...names)
      if (places?.length === 0) return []
      const ids = await readSegment(redis, segment, 'ids')
      if (ids === null) return []
      const entries: Entry[] = []
      const add = (place: number): void => {
        const key = ids.toString('latin1', place * bytes, (place + 1) * bytes)
        if (key.length === bytes) entries.push({ lane: segment.lane, key })
      }
      if (places) for (const place of places) add(place)
      else for (let place = 0; place < ids.length / bytes; place += 1) add(place)
      return entries
    },
  }
  return source
}

/** From the last place down, which is the order of its ids. */
function campaignSource(redis: Redis, segment: Segment, names: Names, bound: string): Source {
  const most = names === undefined ? PLACES : PLACES_OF_ONE
  let end: number | undefined
  const source: Source = {
    bound,
    async read() {
      end ??= await placesIn(redis, segment)
      const from = Math.max(0, end - most)
      const to = end
      end = from
      source.bound = from === 0 ? undefined : least(bound, keyOfPlace(segment, from - 1))
      const wanted =
        names === undefined ? undefined : placesOfPerson(await readRecipientStates(redis, segment, from, to), ...names)
      if (wanted?.length === 0 || to === 0) return []
      const places = wanted ?? Array.from({ length: to - from }, (_, i) => i)
      const first = places[0] ?? 0
      const range = {
        from: (from + first) * CAMPAIGN_ID_BYTES,
        to: (from + (places.at(-1) ?? 0) + 1) * CAMPAIGN_ID_BYTES,
      }
      const ids = (await readSegment(redis, segment, 'ids', range)) ?? Buffer.alloc(0)
      return places.flatMap((place): Entry[] => {
        const at = (place - first) * CAMPAIGN_ID_BYTES
        const id = ids.subarray(at, at + CAMPAIGN_ID_BYTES)
        if (id.length < CAMPAIGN_ID_BYTES || id.every((byte) => byte === 0)) return []
        const whole = Buffer.alloc(ID_BYTES)
        packPlace(segment.newestMs, from + place, whole, 0)
        id.copy(whole, ID_BYTES - CAMPAIGN_ID_BYTES)
        return [{ lane: segment.lane, key: whole.toString('latin1') }]
      })
    },
  }
  return source
}

const readRecipientStates = (redis: Redis, segment: Segment, from: number, to: number): Promise<Buffer | null> =>
  to === from
    ? Promise.resolve(null)
    : readSegment(redis, segment, 'hashes', { from: from * PERSON_HASH_BYTES, to: to * PERSON_HASH_BYTES })

/** The greatest key that the message at a place of a campaign can have. */
function keyOfPlace(segment: Segment, place: number): string {
  const bytes = Buffer.alloc(ID_BYTES, 0xff)
  packPlace(segment.newestMs, place, bytes, 0)
  return bytes.toString('latin1')
}
