// Builds the message document that HTTP and the command line show: state, why it waits, history.

import type { Sender } from '../../accounts/senders.ts'
import { iso, isoOrNull } from '../../kernel/instant.ts'
import { messageId } from '../../kernel/message-id.ts'
import type { InboundMessage } from '../../lanes/archive/archive.ts'
import { HISTORY, type HistoryEvent } from '../../model/messages/history.ts'
import type { Problem } from '../../model/messages/outcome.ts'
import type { Redis } from '../../redis/connect.ts'
import type { FoundMessage } from './lookup.ts'
import type { ListedMessage, ReceivedMessage, SentMessage } from './message-schema.ts'
import { type Waits, waitsOf } from './waits.ts'

/** The history, oldest first. The id has the time of acceptance; the record only what followed. */
export function historyOf(
  message: FoundMessage,
): (Pick<HistoryEvent, 'atMs' | 'detail'> & { what: string; code?: string })[] {
  const accepted = { what: 'accepted', atMs: message.acceptedAtMs, detail: '' }
  return [accepted, ...(message.record?.history ?? [])]
}

/** Whether the message was sent again although an earlier attempt may have reached the recipient. */
const isPossibleDuplicate = (message: FoundMessage): boolean => (message.record?.repeats ?? 0) > 0

/** Why a queued message waits; null for any other, and when nothing holds it back. */
const waitsOfFound = (redis: Redis, message: FoundMessage): Promise<Waits | null> =>
  message.state === 'queued' ? waitsOf(redis, message) : Promise.resolve(null)

/** An outgoing message, as lists show it. */
export function listedSent(message: FoundMessage, sender: Sender | undefined): Extract<ListedMessage, { to: string }> {
  return {
    id: messageId(message.id.lane, message.id.ulid),
    direction: 'outbound',
    state: message.state,
    possible_duplicate: isPossibleDuplicate(message),
    class: message.class,
    kind: message.type,
    sender: sender?.number ?? null,
    to: message.to,
    text: message.text,
    campaign_id: message.groupedAs ?? null,
    reference: message.reference ?? null,
    campaign: message.campaign ?? null,
    provider_id: message.record?.providerId ?? null,
    accepted_at: iso(message.acceptedAtMs),
    send_at: isoOrNull(message.sendAt),
    valid_until: iso(message.validUntil),
    problem: message.problem ? problemOf(message.problem, message.record?.cappedUntil) : null,
    pricing: message.record?.pricing ?? null,
    ...(message.record?.messageStatus !== undefined && { message_status: message.record.messageStatus }),
    ...(message.record?.heldSince !== undefined && { held_since: iso(message.record.heldSince) }),
  }
}

const problemOf = ({ code, sentence }: Problem, cappedUntil: number | undefined) => ({
  ...{ code, sentence },
  ...(cappedUntil !== undefined && { capped_until: iso(cappedUntil) }),
})

/** An outgoing message. */
export async function sentDocument(
  redis: Redis,
  message: FoundMessage,
  sender: Sender | undefined,
): Promise<SentMessage> {
  const waits = await waitsOfFound(redis, message)
  return {
    ...listedSent(message, sender),
    waits: waits && { ...waits, until: waits.until === null ? null : iso(waits.until) },
    history: historyOf(message).map(({ atMs, what, detail, code }) => {
      // Only the entry that begins an attempt names it; later ones carry a code of the provider at most.
      const isAttempt = code === HISTORY.claimed || code === HISTORY.heldByAnother
      return {
        at: iso(atMs),
        event: what,
        attempt: isAttempt ? detail : null,
        detail: isAttempt || detail === '' ? null : detail,
      }
    }),
  }
}

/** A received message, as lists show it. */
export const listedReceived = (
  message: InboundMessage,
  sender: Sender | undefined,
): Extract<ListedMessage, { from: string }> => ({
  id: message.id,
  direction: 'inbound',
  // As in every lookup: a received message counts as delivered.
  state: 'delivered',
  possible_duplicate: false,
  class: null,
  kind: message.type,
  sender: sender?.number ?? null,
  from: message.from,
  text: message.text,
  ...message.parts,
  campaign_id: null,
  reference: null,
  campaign: null,
  provider_id: message.id,
  accepted_at: iso(message.received_at),
  send_at: null,
  valid_until: null,
  problem: null,
})

/** A received message. */
export const receivedDocument = (message: InboundMessage, sender: Sender | undefined): ReceivedMessage => ({
  ...listedReceived(message, sender),
  waits: null,
  history: [{ at: iso(message.received_at), event: 'received', attempt: null, detail: null }],
})
