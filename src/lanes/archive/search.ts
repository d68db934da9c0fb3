// Searches the messages of some lanes, the newest first, through the index or a short list.
import { z } from 'zod'
import { timeOf, unpackUlid } from '../../kernel/message-id.ts'
import type { MessageClass } from '../../model/messages/content.ts'
import type { State } from '../../model/messages/lifecycle.ts'
import type { Redis } from '../../redis/connect.ts'
import { messageKey } from '../../redis/keys.ts'
import { defineMessageScript } from '../messages/message-script.ts'
import { CLASS } from '../messages/record-format.ts'
import { type Cursor, compareEntries, type Entry, inOrder, lastKeyOf, type Source, sourceOf } from './entries.ts'
import { SERIES, type Segment, segmentsBetween } from './index-segments.ts'
import { rareSources } from './rare-states.ts'
import { lettersOf } from './stored-states.ts'

/** What a search looks for. What is left out matches all. */
export interface SearchFilter {
  /** Messages that were accepted to be sent. */
  outbound: boolean
  /** Messages that were received. */
  inbound: boolean
  /** As lookups show it. */
  state?: State | undefined
  /** Names of the person that they are to or from. */
  names?: readonly string[] | undefined
  class?: MessageClass | undefined
  /** A campaign of ours. */
  campaign?: { lane: number; number: number } | undefined
  /** Grouping text of the request. */
  group?: string | undefined
  /** The client's own text. */
  reference?: string | undefined
  /** Code of the problem. */
  code?: string | undefined
  /** Accepted at or after, and at or before (epoch ms). */
  sinceMs?: number | undefined
  untilMs?: number | undefined
}

/** Whose messages, by which filter, from where on. */
export interface SearchQuery {
  lanes: readonly number[]
  filter: SearchFilter
  /** Where an earlier search ended. */
  after?: Cursor | undefined
  /** So many are wanted; there may be more. */
  limit: number
}

/** A message that may match, and the cursor to go on from after it. */
export type Candidate = { lane: number; cursor: Cursor } & (
  | { kind: 'sent'; ulid: string }
  /** `name`: the digest of WhatsApp's id. */
  | { kind: 'received'; name: string }
)

/** Messages that may match, in their order, and the cursor to go on from; undefined at the end. */
export interface SearchStep {
  candidates: Candidate[]
  next: Cursor | undefined
}

/** Messages passed over or found in one step of Redis, which takes about half a millisecond. */
const STEP = 500
/** Most segments read at a time: an account may have a thousand lanes, each with one segment to read. */
const SEGMENTS = 32
/** A message that was received has an id of another length. */
const SENT_KEY = 16

/**
 * All that may match, in steps, of which the caller takes as many as it has time for. A message is found from its acceptance
 * on. One without a record may match anything, and so may one that was received: the caller reads each and looks again.
 */
export async function* search(redis: Redis, query: SearchQuery): AsyncGenerator<SearchStep> {
  const { filter, after, limit } = query
  const { sources, floor } = await sourcesOf(redis, query)
  const first = lastKeyOf((filter.sinceMs ?? 0) - 1)
  const isSelective = [filter.state, filter.class, filter.group, filter.reference, filter.code].some(
    (each) => each !== undefined,
  )
  // If nearly everything matches, no more is read than is wanted.
  const size = isSelective ? STEP : Math.max(1, Math.min(STEP, limit))
  for await (const { entries, cursor } of inOrder(sources, SEGMENTS)) {
    const isLast = cursor === undefined || cursor.key <= floor
    const isOver = isLast || cursor.key <= first
    const floorCursor = floor === '' ? undefined : { lane: Number.MAX_SAFE_INTEGER, key: floor }
    const reached = isLast ? floorCursor : isOver ? undefined : cursor
    const next = reached && latest(after, reached)
    const wanted = entries.filter((entry) => entry.key > floor && isBetween(entry, query))
    if (wanted.length === 0) yield { candidates: [], next }
    for (let from = 0; from < wanted.length; from += size) {
      const step = wanted.slice(from, from + size)
      const candidates = (await filterByRecord(redis, step, filter)).map(candidateOf)
      yield { candidates, next: from + size < wanted.length ? step.at(-1) : next }
    }
    if (isOver) return
  }
}

const candidateOf = (cursor: Entry): Candidate => {
  const { lane, key } = cursor
  if (key.length === SENT_KEY) return { kind: 'sent', lane, cursor, ulid: ulidOf(cursor) }
  const name = Buffer.from(key.slice(6), 'latin1').toString('base64url').slice(0, 27)
  return { kind: 'received', lane, cursor, name }
}

/** The later of two cursors. */
const latest = (a: Cursor | undefined, b: Cursor): Cursor => (a !== undefined && compareEntries(a, b) > 0 ? a : b)

function isBetween(entry: Entry, { after, filter: { sinceMs = 0, untilMs = Number.POSITIVE_INFINITY } }: SearchQuery) {
  if (after !== undefined && compareEntries(after, entry) >= 0) return false
  const atMs = timeOf(Buffer.from(entry.key.slice(0, 6), 'latin1'))
  return atMs >= sinceMs && atMs <= untilMs
}

/** What is to be read. Nothing with a key up to `floor` is complete; empty when all is. */
async function sourcesOf(redis: Redis, query: SearchQuery): Promise<{ sources: Source[]; floor: string }> {
  const { filter, after } = query
  const { campaign, names, outbound, inbound, sinceMs = 0, untilMs = Number.MAX_SAFE_INTEGER } = filter
  const lanes = query.lanes.filter((lane) => campaign === undefined || lane === campaign.lane)
  const latestKey = lastKeyOf(untilMs)
  const top = after !== undefined && after.key < latestKey ? after.key : latestKey
  const rare = outbound && names === undefined ? await rareSources(redis, lanes, filter, top) : undefined
  if (rare !== undefined) return { sources: rare, floor: '' }

  const topMs = timeOf(Buffer.from(top.slice(0, 6), 'latin1'))
  const found = await Promise.all(lanes.map((lane) => segmentsBetween(redis, lane, sinceMs, topMs)))
  const isOf = ({ kind, name }: Segment): boolean => {
    if (campaign !== undefined) return name === `${SERIES.campaign}${campaign.number}`
    return kind === 'received' ? inbound : outbound
  }
  const sources = found.flatMap(({ segments }) =>
    segments.filter(isOf).map((each) => sourceOf(redis, each, names, top)),
  )
  const floors = found.flatMap(({ belowMs }) => (belowMs === undefined ? [] : [lastKeyOf(belowMs)]))
  return { sources, floor: floors.sort().at(-1) ?? '' }
}

const filterScript = defineMessageScript(import.meta.url, 'message-filter')
const filterReply = z.array(z.number().int())

const ulidOf = ({ key }: Entry): string => unpackUlid(Buffer.from(key, 'latin1'))

/** Those that are there and may match, in their order. */
async function filterByRecord(redis: Redis, entries: readonly Entry[], filter: SearchFilter): Promise<Entry[]> {
  const ofLanes = new Map<number, number[]>()
  for (const [i, { lane, key }] of entries.entries()) {
    if (key.length !== SENT_KEY) continue
    const known = ofLanes.get(lane)
    if (known) known.push(i)
    else ofLanes.set(lane, [i])
  }
  const { state, class: only, group, reference, campaign, code } = filter
  const passed = new Set<number>()
  await Promise.all(
    [...ofLanes].map(async ([lane, indexes]) => {
      const reply = await filterScript(
        redis,
        { records: messageKey(lane, '') },
        {
          ulids: indexes.map((i) => ulidOf(entries[i] ?? { lane, key: '' })),
          ...(state && lettersOf(state)),
          class: only && CLASS[only],
          group,
          reference,
          run: campaign?.number,
          code: code === undefined ? undefined : `${code}|`,
        },
      )
      for (const position of filterReply.parse(reply)) passed.add(indexes[position - 1] ?? -1)
    }),
  )
  return entries.filter(({ key }, i) => key.length !== SENT_KEY || passed.has(i))
}
