// The segments of the index as sources of entries. When a person is asked for, their four bytes are looked for among
// those of a segment, and its ids are read only where they are found.

import type { Redis } from '../../redis/connect.ts'
import { ID_BYTES, MARK_BYTES, packPlace } from '../message-id.ts'
import {
  CAMPAIGN_ID_BYTES,
  placesIn,
  placesOfPerson,
  RECEIVED_ID_BYTES,
  readSegment,
  type Segment,
} from '../store/index-segments.ts'
import { type Entry, lastKeyOf, type Source } from './entries.ts'

/** Places of a campaign that are read at a time, with and without a person to look for. */
const PLACES = 8_192
const PLACES_OF_ONE = 65_536

/** The source of a segment; `person` is who the messages go to, or came from. */
export function sourceOf(redis: Redis, segment: Segment, person: string | undefined, top: string): Source {
  const bound = least(lastKeyOf(segment.newestMs), top)
  return segment.kind === 'campaign'
    ? campaignSource(redis, segment, person, bound)
    : segmentSource(redis, segment, person, bound)
}

const least = (a: string, b: string): string => (a < b ? a : b)

function segmentSource(redis: Redis, segment: Segment, person: string | undefined, bound: string): Source {
  const bytes = segment.kind === 'sent' ? ID_BYTES : RECEIVED_ID_BYTES
  const source: Source = {
    bound,
    async read() {
      source.bound = undefined
      const places =
        person === undefined ? undefined : placesOfPerson(await readSegment(redis, segment, 'marks'), person)
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
function campaignSource(redis: Redis, segment: Segment, person: string | undefined, bound: string): Source {
  const most = person === undefined ? PLACES : PLACES_OF_ONE
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
        person === undefined ? undefined : placesOfPerson(await readRecipientStates(redis, segment, from, to), person)
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
    : readSegment(redis, segment, 'marks', { from: from * MARK_BYTES, to: to * MARK_BYTES })

/** The greatest key that the message at a place of a campaign can have. */
function keyOfPlace(segment: Segment, place: number): string {
  const bytes = Buffer.alloc(ID_BYTES, 0xff)
  packPlace(segment.newestMs, place, bytes, 0)
  return bytes.toString('latin1')
}
