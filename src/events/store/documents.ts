// Makes the documents of events. The outbox holds what changed; a message's kind, sender and text are read from its record
// at delivery, so that an event takes few bytes and nothing of an erased person is delivered.

import type { Sender } from '../../accounts/senders.ts'
import { iso } from '../../kernel/instant.ts'
import { masked } from '../../kernel/masked.ts'
import { acceptedAtMs, messageId } from '../../kernel/message-id.ts'
import { archiveOf, type MessageFacts } from '../../lanes/archive/archive.ts'
import { campaignId } from '../../model/campaigns/campaign-id.ts'
import { EVENT_TYPES, type EventDocument, type EventType, typeOfState } from '../../model/events/event-schema.ts'
import { eventId, type MessageChange, type Occurrence, type PlacedEvent } from '../../model/events/outbox-entry.ts'
import type { State } from '../../model/messages/lifecycle.ts'
import { campaignTexts } from '../../recipients/campaign-content.ts'
import type { Redis } from '../../redis/connect.ts'
import { skipCorrupt } from '../../redis/records.ts'
import type { Endpoint } from './endpoints.ts'

/** Dependencies of an account's event documents; `senderOf` finds its senders by lane. */
export interface DocumentContext {
  redis: Redis
  account: number
  senderOf: (lane: number) => Sender | undefined
  /** Whether numbers and texts are included. */
  includeContent: boolean
  /** The types that the reader listens to; undefined: all. */
  types?: readonly string[] | undefined
}

/**
 * The event type of an occurrence, for a reader of these `types`; undefined if it is no event. For a reader of `delivered` without
 * `read`, a read receipt counts as the delivery if no delivery was reported before.
 */
export function typeOf(occurrence: Occurrence, types: readonly string[] = EVENT_TYPES): EventType | undefined {
  switch (occurrence.about) {
    case 'message':
      if (occurrence.isFirstProofOfDelivery && !types.includes('message.read') && types.includes('message.delivered')) {
        return 'message.delivered'
      }
      return typeOfState(occurrence.state)
    case 'received':
      return 'message.received'
    case 'media_kept':
      return 'message.media_kept'
    case 'gallery':
      return 'gallery.full'
    case 'sender':
      return occurrence.blocked ? 'sender.blocked' : 'sender.recovered'
    case 'notice':
      return 'provider.notice'
    case 'endpoint':
      return 'endpoint.disabled'
    case 'campaign':
      if (occurrence.state === 'running') return 'campaign.started'
      if (occurrence.state === 'paused' || occurrence.state === 'done' || occurrence.state === 'cancelled') {
        return `campaign.${occurrence.state}`
      }
      return undefined
  }
}

/** Whether an endpoint gets the event: it is of one of these types, of one of its senders, and not about the endpoint itself. */
export function isFor(
  { id, senders }: Pick<Endpoint, 'id' | 'senders'>,
  types: readonly string[],
  { occurrence }: PlacedEvent,
  sender: string | undefined,
): boolean {
  const type = typeOf(occurrence, types)
  if (type === undefined || !types.includes(type)) return false
  if (occurrence.about === 'endpoint') return occurrence.id !== id
  return senders.length === 0 || senders.includes(sender ?? '')
}

/** The documents of events, in order; undefined for one whose message has expired or cannot be read. */
export async function documentsOf(
  context: DocumentContext,
  events: readonly PlacedEvent[],
): Promise<(EventDocument | undefined)[]> {
  const known = await knownOf(context, events)
  // All other reads of one turn go to Redis together.
  return Promise.all(events.map((event) => documentOf(context, event, known)))
}

/** What is read of messages, by lane. */
interface Known {
  facts: ReadonlyMap<number, ReadonlyMap<string, MessageFacts>>
  contents: ReadonlyMap<number, ReadonlyMap<string, MessageContent>>
}

async function knownOf({ redis, includeContent }: DocumentContext, events: readonly PlacedEvent[]): Promise<Known> {
  const wanted = new Map<number, Set<string>>()
  for (const { source, occurrence } of events) {
    if (occurrence.about !== 'message') continue
    const ulids = wanted.get(source) ?? new Set()
    wanted.set(source, ulids.add(occurrence.ulid))
  }
  const facts = new Map<number, ReadonlyMap<string, MessageFacts>>()
  const contents = new Map<number, ReadonlyMap<string, MessageContent>>()
  await Promise.all(
    [...wanted].flatMap(([lane, ulids]) => [
      factsOf(redis, lane, [...ulids]).then((found) => facts.set(lane, found)),
      ...(includeContent ? [readContents(redis, lane, [...ulids]).then((found) => contents.set(lane, found))] : []),
    ]),
  )
  return { facts, contents }
}

async function documentOf(
  context: DocumentContext,
  event: PlacedEvent,
  known: Known,
): Promise<EventDocument | undefined> {
  const { occurrence, source } = event
  const type = typeOf(occurrence, context.types)
  if (type === undefined) return undefined
  const timestamp = iso(occurrence.at)
  const event_id = eventId(event)
  const sender = context.senderOf(source)?.number ?? null
  switch (occurrence.about) {
    case 'message':
      return { type, timestamp, data: { event_id, ...messageData(context, source, occurrence, known), sender } }
    case 'received':
    case 'media_kept': {
      const found = await archiveOf(context.redis)
        .find({ account: context.account, name: occurrence.name })
        .catch(skipCorrupt)
      if (found === undefined) return undefined
      const { id, type: kind, from, text, parts, received_at } = found
      const shown = context.includeContent ? { from, text, ...parts } : {}
      const seq = occurrence.about === 'received' ? 1 : 2
      return {
        type,
        timestamp,
        data: { event_id, id, seq, kind, sender, received_at: iso(received_at), ...shown },
      }
    }
    case 'campaign': {
      const { number, seq, state, reason } = occurrence
      const id = campaignId({ lane: source, number })
      return { type, timestamp, data: { event_id, id, seq, state, sender, reason: reason ?? null } }
    }
    case 'sender':
      return { type, timestamp, data: { event_id, lane: source, sender, reason: occurrence.reason || null } }
    case 'notice': {
      const { id, field, event: word, lane, sentence } = occurrence
      const number = lane === undefined ? null : (context.senderOf(lane)?.number ?? null)
      return { type, timestamp, data: { event_id, id, field, event: word, sender: number, sentence } }
    }
    case 'gallery':
      return { type, timestamp, data: { event_id, bytes: occurrence.bytes, limit: occurrence.limit } }
    case 'endpoint':
      return { type, timestamp, data: { event_id, id: occurrence.id, reason: occurrence.reason || null } }
  }
}

function messageData(
  { includeContent }: DocumentContext,
  lane: number,
  change: MessageChange,
  { facts, contents }: Known,
) {
  const { ulid, seq, state, possibleDuplicate, problem } = change
  const fact = facts.get(lane)?.get(ulid)
  const run = fact?.run ?? null
  const content = contents.get(lane)?.get(ulid)
  const shown = (sentence: string): string => (includeContent ? sentence : masked(sentence))
  return {
    id: messageId(lane, ulid),
    seq,
    state,
    possible_duplicate: possibleDuplicate,
    class: fact?.class ?? null,
    kind: fact?.kind ?? null,
    campaign_id: fact?.group ?? null,
    reference: fact?.reference ?? null,
    campaign: run === null ? null : campaignId({ lane, number: run }),
    // WhatsApp's ids hold the number of the recipient.
    provider_id: (includeContent && fact?.providerId) || null,
    accepted_at: iso(acceptedAtMs(ulid)),
    ...(hasPrice(state) && { pricing: fact?.pricing ?? null }),
    problem: problem ? { ...problem, sentence: fact?.isForgotten ? '' : shown(problem.sentence) } : null,
    ...(includeContent && { to: content?.to ?? null, text: content?.text ?? null }),
  }
}

const hasPrice = (state: State): boolean => state === 'sent' || state === 'delivered' || state === 'read'

/** The facts of these messages of one lane, by ULID. */
async function factsOf(
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<ReadonlyMap<string, MessageFacts>> {
  const found = await archiveOf(redis).find({ lane, ulids }, 'facts')
  return new Map(
    found.flatMap((fact, i) => (fact === undefined || fact instanceof Error ? [] : [[ulids[i] ?? '', fact]])),
  )
}

/** Messages whose contents are read in one step. */
const AT_ONCE = 100

/** The recipient and the text of a message; null for one that has expired or cannot be read. */
export interface MessageContent {
  to: string | null
  text: string | null
}

/** The same for content, which only some endpoints get. */
async function readContents(
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<Map<string, MessageContent>> {
  const contents = new Map<string, MessageContent>()
  const textOf = campaignTexts(redis)
  await inLots(ulids, async (lot) => {
    const found = await archiveOf(redis).find({ lane, ulids: lot })
    for (const [i, ulid] of lot.entries()) {
      const record = found[i]
      const isRead = record !== undefined && !(record instanceof Error)
      contents.set(
        ulid,
        isRead ? { to: record.to, text: (await textOf(lane, record)) ?? record.text } : { to: null, text: null },
      )
    }
  })
  return contents
}

async function inLots(ulids: readonly string[], read: (lot: readonly string[]) => Promise<void>): Promise<void> {
  const lots: Promise<void>[] = []
  for (let at = 0; at < ulids.length; at += AT_ONCE) lots.push(read(ulids.slice(at, at + AT_ONCE)))
  await Promise.all(lots)
}
