// One page of messages, newest first. Each call examines a bounded number: with a selective filter a page may be
// short or empty and still carry a cursor to go on from.
import { z } from 'zod'
import type { Sender } from '../../accounts/senders.ts'
import { timeOf, unpackUlid } from '../../kernel/message-id.ts'
import { findInboundBy } from '../../lanes/messages/inbound.ts'
import { type Segment, segmentsBetween } from '../../lanes/messages/index-segments.ts'
import { defineMessageScript } from '../../lanes/messages/message-script.ts'
import type { ListSettings } from '../../recipients/open-campaigns.ts'
import type { Redis } from '../../redis/connect.ts'
import { messageKey } from '../../redis/keys.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import { type Cursor, compareEntries, type Entry, inOrder, lastKeyOf, type Source, sourceOf } from './entries.ts'
import { fallbackSources } from './fallback-lookup.ts'
import { findMessage } from './lookup.ts'
import { listedReceived, listedSent } from './message-document.ts'
import { directionsOf, lettersOf, type MessageFilter, matches, namesIn } from './message-filter.ts'
import type { ListedMessage } from './message-schema.ts'

/** A search: whose messages, by which filter, from where on. */
export interface Search {
  /** Whose messages are looked through. */
  senders: readonly Sender[]
  filter: MessageFilter
  limit: number
  /** Where an earlier page ended. */
  after?: Cursor | undefined
  nowMs: number
  /** Where the lists of campaigns are, for those that wait in chunks. */
  lists: ListSettings
  /** Whether the client is still connected. */
  isWanted?: () => boolean
}

/** A page; `next` is where the next one begins, undefined once all were looked at. */
export interface Page {
  messages: ListedMessage[]
  next: Cursor | undefined
}

/** So long a page may look; reading what it shows comes on top. */
const LOOK_MS = 150
/** Messages passed over or found in one step of Redis, which takes about half a millisecond. */
const STEP = 500
/** Most segments read at a time: an account may have a thousand lanes, each with one that is to be looked at. */
const SEGMENTS = 32
/** A message that was received has an id of another length. */
const SENT_KEY = 16

/** The page of the senders' messages that follows `after`. A record that is not what Laneway wrote is passed over. */
export async function findMessages(redis: Redis, search: Search): Promise<Page> {
  const { filter, limit, after, isWanted = () => true } = search
  const endMs = performance.now() + LOOK_MS
  const { sources, floor } = await sourcesOf(redis, search)
  const first = lastKeyOf((filter.sinceMs ?? 0) - 1)
  const messages: ListedMessage[] = []
  const isSelective = [filter.state, filter.class, filter.campaignId, filter.code].some((each) => each !== undefined)
  for await (const { entries, cursor } of inOrder(sources, SEGMENTS)) {
    const wanted = entries.filter((entry) => entry.key > floor && isBetween(entry, search))
    for (let from = 0, size = 0; from < wanted.length; from += size) {
      // Of what nearly always matches no more is looked at than is shown.
      size = isSelective ? STEP : Math.min(STEP, limit - messages.length)
      const step = wanted.slice(from, from + size)
      const candidates = await filterByRecord(redis, step, search)
      while (candidates.length > 0) {
        const some = candidates.splice(0, limit - messages.length)
        const read = await Promise.all(some.map((entry) => readEntry(redis, entry, search)))
        for (const [i, message] of read.entries()) {
          if (message === undefined || !matches(message, filter)) continue
          messages.push(message)
          if (messages.length === limit) return { messages, next: some[i] }
        }
      }
      const isLast = from + size >= wanted.length
      if (!isLast && (performance.now() > endMs || !isWanted())) return { messages, next: step.at(-1) }
    }
    if (cursor === undefined || cursor.key <= floor) break
    if (cursor.key <= first) return { messages, next: undefined }
    if (performance.now() > endMs || !isWanted()) return { messages, next: latest(after, cursor) }
  }
  return { messages, next: floor === '' ? undefined : latest(after, { lane: Number.MAX_SAFE_INTEGER, key: floor }) }
}

/** The later of two cursors. */
const latest = (a: Cursor | undefined, b: Cursor): Cursor => (a !== undefined && compareEntries(a, b) > 0 ? a : b)

function isBetween(entry: Entry, { after, filter: { sinceMs = 0, untilMs = Number.POSITIVE_INFINITY } }: Search) {
  if (after !== undefined && compareEntries(after, entry) >= 0) return false
  const atMs = timeOf(Buffer.from(entry.key.slice(0, 6), 'latin1'))
  return atMs >= sinceMs && atMs <= untilMs
}

/** What is to be read. Nothing with a key up to `floor` is complete; empty when all is. */
async function sourcesOf(redis: Redis, search: Search): Promise<{ sources: Source[]; floor: string }> {
  const { senders, filter, after } = search
  const { campaign, sinceMs = 0, untilMs = Number.MAX_SAFE_INTEGER } = filter
  const lanes = senders.map(({ id }) => id).filter((lane) => campaign === undefined || lane === campaign.lane)
  const directions = directionsOf(filter)
  const latestKey = lastKeyOf(untilMs)
  const top = after !== undefined && after.key < latestKey ? after.key : latestKey
  const names = namesIn(filter)
  const rare = directions.outbound && names === undefined ? await fallbackSources(redis, lanes, filter, top) : undefined
  if (rare !== undefined) return { sources: rare, floor: '' }

  const topMs = timeOf(Buffer.from(top.slice(0, 6), 'latin1'))
  const found = await Promise.all(lanes.map((lane) => segmentsBetween(redis, lane, sinceMs, topMs)))
  const isOf = ({ kind, name }: Segment): boolean => {
    if (campaign !== undefined) return name === `c${campaign.number}`
    return kind === 'received' ? directions.inbound : directions.outbound
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
async function filterByRecord(redis: Redis, entries: readonly Entry[], { filter }: Search): Promise<Entry[]> {
  const ofLanes = new Map<number, number[]>()
  for (const [i, { lane, key }] of entries.entries()) {
    if (key.length !== SENT_KEY) continue
    const known = ofLanes.get(lane)
    if (known) known.push(i)
    else ofLanes.set(lane, [i])
  }
  const { state, class: only, campaignId, campaign, code } = filter
  const passed = new Set<number>()
  await Promise.all(
    [...ofLanes].map(async ([lane, places]) => {
      const reply = await filterScript(
        redis,
        { records: messageKey(lane, '') },
        {
          ulids: places.map((i) => ulidOf(entries[i] ?? { lane, key: '' })),
          ...(state && lettersOf(state)),
          class: only?.[0],
          group: campaignId,
          run: campaign?.number,
          code: code === undefined ? undefined : `${code}|`,
        },
      )
      for (const place of filterReply.parse(reply)) passed.add(places[place - 1] ?? -1)
    }),
  )
  return entries.filter(({ key }, i) => key.length !== SENT_KEY || passed.has(i))
}

/** Undefined for one that is gone, or that cannot be read. */
async function readEntry(redis: Redis, entry: Entry, search: Search): Promise<ListedMessage | undefined> {
  const sender = search.senders.find(({ id }) => id === entry.lane)
  try {
    if (entry.key.length === SENT_KEY) {
      const message = await findMessage(redis, { lane: entry.lane, ulid: ulidOf(entry) }, search.nowMs, search.lists)
      return message && listedSent(message, sender)
    }
    const digested = Buffer.from(entry.key.slice(6), 'latin1').toString('base64url').slice(0, 27)
    const message = sender && (await findInboundBy(redis, sender.account, digested))
    return message && listedReceived(message, sender)
  } catch (error) {
    if (error instanceof CorruptRecordError) return undefined
    throw error
  }
}
