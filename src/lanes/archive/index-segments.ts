// Reads the index of a lane: its segments and their content. scripts/message-index.lua describes the format.

import { PERSON_HASH_BYTES } from '../../kernel/message-id.ts'
import { indexHashesOf } from '../../kernel/sealed.ts'
import { HOUR_MS } from '../../kernel/time-units.ts'
import type { Redis } from '../../redis/connect.ts'
import { indexSegmentKeys, messageIndexKey } from '../../redis/keys.ts'

/** Bytes of the id of a received message: the time, and the digest in its key. */
export const RECEIVED_ID_BYTES = 27
/** Bytes of an id that do not follow from the start of its campaign and its place in the list. */
export const CAMPAIGN_ID_BYTES = 7

/** The metadata of a segment. Times are epoch ms of acceptance. */
export interface Segment {
  lane: number
  name: string
  kind: 'sent' | 'received' | 'campaign'
  /** No message in it was accepted earlier, or later. */
  oldestMs: number
  newestMs: number
}

/** What the name of a segment begins with, by what is in it. */
export const SERIES = { sent: 'o', received: 'r', campaign: 'c' } as const

/** What follows in the name of a segment by time: how long before it was begun its messages may have been accepted. */
export const DIGIT = { punctual: '0', late: '1', anyTime: '2' } as const

/** The same in ms; without an entry any time. */
export const LATENESS = { punctualMs: 60_000, lateMs: HOUR_MS } as const

const OF_CAMPAIGN = new RegExp(`^${SERIES.campaign}\\d+$`)
const BY_TIME = new RegExp(`^([${SERIES.sent}${SERIES.received}])([${Object.values(DIGIT).join('')}])(\\d+)$`)

/** Segments read in one round trip. */
const PAGE = 1_000
/** Segments of a lane that one search goes down to: four million messages. */
const MOST_BELOW = 1_000

/** The segments of a lane that hold anything accepted at `sinceMs` or later. */
export async function segmentsFrom(redis: Redis, lane: number, sinceMs: number): Promise<Segment[]> {
  const found: Segment[] = []
  for (;;) {
    const page = await redis.zrangebyscore(
      messageIndexKey(lane),
      sinceMs,
      '+inf',
      'WITHSCORES',
      'LIMIT',
      found.length,
      PAGE,
    )
    found.push(...segmentsIn(lane, page))
    if (page.length < 2 * PAGE) return found
  }
}

/**
 * The segments of a lane that may hold anything accepted between the two times. `belowMs`: there are more, and none of them
 * holds anything later than that.
 */
export async function segmentsBetween(
  redis: Redis,
  lane: number,
  sinceMs: number,
  untilMs: number,
): Promise<{ segments: Segment[]; belowMs: number | undefined }> {
  const [above, below] = await Promise.all([
    segmentsFrom(redis, lane, untilMs + 1),
    redis.zrevrangebyscore(messageIndexKey(lane), untilMs, sinceMs, 'WITHSCORES', 'LIMIT', 0, MOST_BELOW),
  ])
  const lower = segmentsIn(lane, below)
  const isCut = lower.length === MOST_BELOW
  return {
    segments: [...above.filter(({ oldestMs }) => oldestMs <= untilMs), ...lower],
    belowMs: isCut ? lower.at(-1)?.newestMs : undefined,
  }
}

function segmentsIn(lane: number, page: readonly string[]): Segment[] {
  const found: Segment[] = []
  for (let i = 0; i + 1 < page.length; i += 2) {
    const [name = '', newestMs] = [page[i], Number(page[i + 1])]
    if (OF_CAMPAIGN.test(name)) {
      found.push({ lane, name, kind: 'campaign', oldestMs: newestMs, newestMs })
      continue
    }
    const [, series, digit, begunAt] = BY_TIME.exec(name) ?? []
    if (series === undefined) continue
    const kind = series === SERIES.sent ? 'sent' : 'received'
    found.push({ lane, name, kind, oldestMs: Number(begunAt) - latenessMs(digit), newestMs })
  }
  return found
}

function latenessMs(digit: string | undefined): number {
  if (digit === DIGIT.punctual) return LATENESS.punctualMs
  return digit === DIGIT.late ? LATENESS.lateMs : Number.POSITIVE_INFINITY
}

/** Of a segment: the ids of the messages from the one at place `from` on, or the hashes of their people. */
export function readSegment(
  redis: Redis,
  { lane, name }: Segment,
  of: 'ids' | 'hashes',
  range?: { from: number; to: number },
): Promise<Buffer | null> {
  const key = indexSegmentKeys(lane, name)[of]
  return range ? redis.getrangeBuffer(key, range.from, range.to - 1) : redis.getBuffer(key)
}

/** Messages that a segment of a campaign has room for. */
export const placesIn = async (redis: Redis, { lane, name }: Segment): Promise<number> =>
  Math.floor((await redis.strlen(indexSegmentKeys(lane, name).ids)) / CAMPAIGN_ID_BYTES)

/** The places of a person, under any of these names, in the hashes of a segment, in order. */
export function placesOfPerson(hashes: Buffer | null, ...names: readonly string[]): number[] {
  if (hashes === null) return []
  const places = new Set<number>()
  for (const wanted of names.flatMap(indexHashesOf)) {
    for (let at = hashes.indexOf(wanted); at !== -1; at = hashes.indexOf(wanted, at + 1)) {
      if (at % PERSON_HASH_BYTES === 0) places.add(at / PERSON_HASH_BYTES)
    }
  }
  return [...places].sort((one, other) => one - other)
}
