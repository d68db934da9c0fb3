// Where a person stands in the index of a lane: the four bytes beside each id tell, or nearly. The message itself has the
// last word, since one person in four billion others has the same four.
import { ID_BYTES, MARK_BYTES, packPlace, timeOf, unpackUlid } from '../messages/message-id.ts'
import {
  CAMPAIGN_ID_BYTES,
  placesOfPerson,
  RECEIVED_ID_BYTES,
  readSegment,
  type Segment,
  segmentsFrom,
} from '../messages/store/index-segments.ts'
import type { Redis } from '../redis/connect.ts'
import { indexSegmentKeys } from '../redis/keys.ts'

/** A message of somebody who may be the person. `name`: its ULID, or of a received one what stands for its id. */
export interface IndexedMessage {
  lane: number
  kind: 'sent' | 'received'
  name: string
  acceptedAtMs: number
  segment: Segment
  place: number
}

/** Segments read in one round trip, each of 16 KB but those of campaigns. */
const SEGMENTS = 32
/** Places of a campaign that are read at a time: 256 KB. */
const PLACES = 65_536
/** Ids that are asked for together. */
const IDS = 500

/** All messages of the lane that may be to or from the person, in pieces. An id may come twice. */
export async function* indexedOf(redis: Redis, lane: number, person: string): AsyncGenerator<IndexedMessage[]> {
  const segments = await segmentsFrom(redis, lane, 0)
  for (let at = 0; at < segments.length; at += SEGMENTS) {
    const some = segments.slice(at, at + SEGMENTS)
    const found = await Promise.all(some.map((segment) => inSegment(redis, segment, person)))
    yield found.flat()
  }
}

async function inSegment(redis: Redis, segment: Segment, person: string): Promise<IndexedMessage[]> {
  const found: IndexedMessage[] = []
  for (let from = 0; ; from += PLACES) {
    const marks = await readSegment(redis, segment, 'marks', {
      from: from * MARK_BYTES,
      to: (from + PLACES) * MARK_BYTES,
    })
    if (marks === null || marks.length === 0) return found
    const places = placesOfPerson(marks, person)
    for (let at = 0; at < places.length; at += IDS) {
      const read = places.slice(at, at + IDS).map((place) => messageAt(redis, segment, from + place))
      found.push(...(await Promise.all(read)).filter((message) => message !== undefined))
    }
    if (marks.length < PLACES * MARK_BYTES) return found
  }
}

async function messageAt(redis: Redis, segment: Segment, place: number): Promise<IndexedMessage | undefined> {
  const { lane, kind } = segment
  const size = kind === 'campaign' ? CAMPAIGN_ID_BYTES : kind === 'sent' ? ID_BYTES : RECEIVED_ID_BYTES
  const id = await readSegment(redis, segment, 'ids', { from: place * size, to: (place + 1) * size })
  if (id === null || id.length < size || id.every((byte) => byte === 0)) return undefined
  if (kind === 'received') {
    const name = id.subarray(6).toString('base64url').slice(0, 27)
    return { lane, kind, name, acceptedAtMs: timeOf(id), segment, place }
  }
  const whole = Buffer.alloc(ID_BYTES)
  if (kind === 'campaign') packPlace(segment.newestMs, place, whole, 0)
  id.copy(whole, ID_BYTES - id.length)
  return { lane, kind: 'sent', name: unpackUlid(whole), acceptedAtMs: timeOf(whole), segment, place }
}

/** The four bytes stand for nobody any more. An index that has ended meanwhile is left as it is. */
export async function forgetPlaces(redis: Redis, messages: readonly IndexedMessage[]): Promise<void> {
  const nobody = Buffer.alloc(MARK_BYTES)
  await Promise.all(
    messages.map(async ({ lane, segment, place }) => {
      const { marks: key } = indexSegmentKeys(lane, segment.name)
      // Beyond its end it would make the string grow, without an end of its own.
      if ((await redis.strlen(key)) >= (place + 1) * MARK_BYTES) await redis.setrange(key, place * MARK_BYTES, nobody)
    }),
  )
}
