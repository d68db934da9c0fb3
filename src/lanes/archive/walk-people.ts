// Walks over all messages of a lane that may be to or from some people: the index stores a four-byte hash of the person beside each
// id. Two people may share a hash (1 in 4 billion), so check the message.
import { acceptedAtMs, ID_BYTES, PERSON_HASH_BYTES, packPlace, timeOf, unpackUlid } from '../../kernel/message-id.ts'
import { indexHashesOf } from '../../kernel/sealed.ts'
import type { Redis } from '../../redis/connect.ts'
import { indexSegmentKeys } from '../../redis/keys.ts'
import {
  CAMPAIGN_ID_BYTES,
  placesIn,
  placesOfPerson,
  RECEIVED_ID_BYTES,
  readSegment,
  type Segment,
  segmentsBetween,
  segmentsFrom,
} from './index-segments.ts'

/** Whose messages of a lane are walked over. */
export interface WalkQuery {
  lane: number
  /** All names of each person. */
  people: readonly (readonly string[])[]
  /** Only what campaigns sent, the latest first; without it everything. */
  campaigns?: CampaignsWalked
}

/** Which campaigns a walk goes over. */
interface CampaignsWalked {
  /** When they started (epoch ms). */
  sinceMs: number
  untilMs: number
  /** Of these at most so many, the latest, with so many recipients together. */
  most: number
  mostRecipients: number
}

/** A message that may be to or from one of the people. An id may come twice. */
export type Walked = {
  lane: number
  acceptedAtMs: number
  /** Index of the person in the query. */
  who: number
  /** Removes it from this person's walks. */
  unlist: () => Promise<void>
} & (
  | { kind: 'sent'; ulid: string }
  /** `name`: the digest of WhatsApp's id. */
  | { kind: 'received'; name: string }
)

/** Segments read in one round trip, each of 16 KB but those of campaigns. */
const SEGMENTS = 32
/** Places of a campaign that are read at a time: 256 KB. */
const PLACES = 65_536
/** Ids that are read together. */
const IDS = 500

/** All messages that may be of these people, in pieces; with `campaigns` a piece for each campaign. */
export async function* walkPeople(redis: Redis, query: WalkQuery): AsyncGenerator<Walked[]> {
  const { lane, people, campaigns } = query
  const finder = finderOf(people)
  if (campaigns === undefined) {
    const segments = await segmentsFrom(redis, lane, 0)
    for (let at = 0; at < segments.length; at += SEGMENTS) {
      const some = segments.slice(at, at + SEGMENTS)
      yield (await Promise.all(some.map((segment) => inSegment(redis, segment, finder)))).flat()
    }
    return
  }
  let recipients = 0
  for (const segment of await latestCampaigns(redis, lane, campaigns)) {
    recipients += await placesIn(redis, segment)
    if (recipients > campaigns.mostRecipients) return
    yield await inSegment(redis, segment, finder)
  }
}

async function latestCampaigns(redis: Redis, lane: number, { sinceMs, untilMs, most }: CampaignsWalked) {
  const { segments } = await segmentsBetween(redis, lane, sinceMs, untilMs)
  return segments
    .filter(({ kind }) => kind === 'campaign')
    .sort((one, other) => other.newestMs - one.newestMs)
    .slice(0, most)
}

/** Finds people in the hashes of a segment: each place with the person that it may be of. */
type Finder = (hashes: Buffer) => [place: number, who: number][]

/** A search for bytes finds one person sooner than a look at every place, which finds thousands as soon. */
function finderOf(people: readonly (readonly string[])[]): Finder {
  const [first = []] = people
  if (people.length === 1) return (hashes) => placesOfPerson(hashes, ...first).map((place) => [place, 0])
  const whoHas = new Map<number, number[]>()
  for (const [who, names] of people.entries()) {
    for (const hash of names.flatMap(indexHashesOf)) {
      const number = hash.readUInt32LE()
      const known = whoHas.get(number)
      if (known === undefined) whoHas.set(number, [who])
      else if (!known.includes(who)) known.push(who)
    }
  }
  return (hashes) => {
    const found: [number, number][] = []
    for (let at = 0; at + PERSON_HASH_BYTES <= hashes.length; at += PERSON_HASH_BYTES) {
      for (const who of whoHas.get(hashes.readUInt32LE(at)) ?? []) found.push([at / PERSON_HASH_BYTES, who])
    }
    return found
  }
}

async function inSegment(redis: Redis, segment: Segment, find: Finder): Promise<Walked[]> {
  const found: Walked[] = []
  for (let from = 0; ; from += PLACES) {
    const hashes = await readSegment(redis, segment, 'hashes', {
      from: from * PERSON_HASH_BYTES,
      to: (from + PLACES) * PERSON_HASH_BYTES,
    })
    if (hashes === null || hashes.length === 0) return found
    const places = find(hashes)
    for (let at = 0; at < places.length; at += IDS) {
      const read = places.slice(at, at + IDS).map(([place, who]) => messageAt(redis, segment, from + place, who))
      found.push(...(await Promise.all(read)).filter((message) => message !== undefined))
    }
    if (hashes.length < PLACES * PERSON_HASH_BYTES) return found
  }
}

async function messageAt(redis: Redis, segment: Segment, place: number, who: number): Promise<Walked | undefined> {
  const { lane, kind } = segment
  const size = kind === 'campaign' ? CAMPAIGN_ID_BYTES : kind === 'sent' ? ID_BYTES : RECEIVED_ID_BYTES
  const id = await readSegment(redis, segment, 'ids', { from: place * size, to: (place + 1) * size })
  if (id === null || id.length < size || id.every((byte) => byte === 0)) return undefined
  const unlist = (): Promise<void> => forgetPlace(redis, segment, place)
  if (kind === 'received') {
    const name = id.subarray(6).toString('base64url').slice(0, 27)
    return { kind, lane, acceptedAtMs: timeOf(id), who, unlist, name }
  }
  const whole = Buffer.alloc(ID_BYTES)
  if (kind === 'campaign') packPlace(segment.newestMs, place, whole, 0)
  id.copy(whole, ID_BYTES - id.length)
  const ulid = unpackUlid(whole)
  return { kind: 'sent', lane, acceptedAtMs: acceptedAtMs(ulid), who, unlist, ulid }
}

/** Overwrites the four bytes with zeros. An index that has expired meanwhile is left alone. */
async function forgetPlace(redis: Redis, { lane, name }: Segment, place: number): Promise<void> {
  const { hashes: key } = indexSegmentKeys(lane, name)
  // Beyond its end it would make the string grow, without an end of its own.
  if ((await redis.strlen(key)) < (place + 1) * PERSON_HASH_BYTES) return
  await redis.setrange(key, place * PERSON_HASH_BYTES, Buffer.alloc(PERSON_HASH_BYTES))
}
