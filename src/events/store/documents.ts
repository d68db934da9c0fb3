// Puts events into words. What changed stands in the outbox; what stays the same of a message (its kind, its sender, its
// text) is read from its record when it is told, so that an event costs few bytes, and an erased person is told of no more.
import { z } from 'zod'
import type { Sender } from '../../accounts/store/senders.ts'
import { campaignId } from '../../campaigns/campaign-id.ts'
import { campaignText } from '../../campaigns/store/text.ts'
import { masked } from '../../messages/masked.ts'
import { acceptedAtMs, messageId } from '../../messages/message-id.ts'
import { openTextOr } from '../../messages/sealed.ts'
import { findInbound } from '../../messages/store/inbound.ts'
import { countedClassSchema, FIELDS, typeSchema } from '../../messages/store/record-format.ts'
import { readMessagesOrNot } from '../../messages/store/records.ts'
import type { Redis } from '../../redis/connect.ts'
import { messageKey } from '../../redis/keys.ts'
import type { EventDocument } from '../event-schema.ts'
import { type EventType, typeOfState } from '../event-types.ts'
import { eventId, type MessageChange, type Occurrence, type PlacedEvent } from '../outbox-entry.ts'

/** What is needed to put events of one account into words; `senderOf` knows the account's senders by lane. */
export interface Telling {
  redis: Redis
  account: number
  senderOf: (lane: number) => Sender | undefined
  /** Whether numbers and texts are told. */
  includeContent: boolean
}

/** The type of what happened; undefined for what is no event. */
export function typeOf(occurrence: Occurrence): EventType | undefined {
  switch (occurrence.about) {
    case 'message':
      return typeOfState(occurrence.state)
    case 'received':
      return 'message.received'
    case 'sender':
      return occurrence.blocked ? 'sender.blocked' : 'sender.recovered'
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

/** The documents of events, in their order; undefined for one that can be told no more, as its message is not kept. */
export async function documentsOf(
  telling: Telling,
  events: readonly PlacedEvent[],
): Promise<(EventDocument | undefined)[]> {
  // All reads of one turn go to Redis together.
  return Promise.all(events.map((event) => documentOf(telling, event)))
}

async function documentOf(telling: Telling, event: PlacedEvent): Promise<EventDocument | undefined> {
  const { occurrence, source } = event
  const type = typeOf(occurrence)
  if (type === undefined) return undefined
  const timestamp = iso(occurrence.at)
  const event_id = eventId(event)
  const sender = telling.senderOf(source)?.number ?? null
  switch (occurrence.about) {
    case 'message':
      return { type, timestamp, data: { event_id, ...(await messageData(telling, source, occurrence)), sender } }
    case 'received': {
      const found = await findInbound(telling.redis, telling.account, occurrence.id).catch(() => undefined)
      if (found === undefined) return undefined
      const { id, type: kind, from, text, parts, received_at } = found
      const shown = telling.includeContent ? { from, text, ...parts } : {}
      return {
        type,
        timestamp,
        data: { event_id, id, seq: 1, kind, sender, received_at: iso(received_at), ...shown },
      }
    }
    case 'campaign': {
      const { number, seq, state, reason } = occurrence
      const id = campaignId({ lane: source, number })
      return { type, timestamp, data: { event_id, id, seq, state, sender, reason: reason ?? null } }
    }
    case 'sender':
      return { type, timestamp, data: { event_id, lane: source, sender, reason: occurrence.reason || null } }
    case 'endpoint':
      return { type, timestamp, data: { event_id, id: occurrence.id, reason: occurrence.reason || null } }
  }
}

const text = z.string().nullable()
const stored = z.tuple([countedClassSchema.nullable(), typeSchema.nullable(), text, text, text])

async function messageData(telling: Telling, lane: number, change: MessageChange) {
  const { redis, includeContent } = telling
  const { ulid, seq, state, possibleDuplicate, problem } = change
  const fields = [FIELDS.class, FIELDS.type, FIELDS.campaign, FIELDS.run, FIELDS.providerId]
  const raw = await redis.hmget(messageKey(lane, ulid), ...fields)
  const [of, kind, group, run, providerId] = stored.safeParse(raw).data ?? [null, null, null, null, null]
  return {
    id: messageId(lane, ulid),
    seq,
    state,
    possible_duplicate: possibleDuplicate,
    class: of,
    kind,
    campaign_id: group,
    campaign: run === null ? null : campaignId({ lane, number: Number(run) }),
    // The chat product's ids hold the number of the recipient.
    provider_id: includeContent && providerId !== null ? openTextOr(providerId, '') || null : null,
    accepted_at: iso(acceptedAtMs(ulid)),
    problem: problem ? { ...problem, sentence: includeContent ? problem.sentence : masked(problem.sentence) } : null,
    ...(includeContent && (await contentOf(redis, lane, ulid))),
  }
}

async function contentOf(redis: Redis, lane: number, ulid: string) {
  const [record] = await readMessagesOrNot(redis, lane, [ulid])
  if (record === undefined || record === 'unreadable') return { to: null, text: null }
  return { to: record.to, text: (await campaignText(redis, lane, record)) ?? record.text }
}

const iso = (ms: number): string => new Date(ms).toISOString()
