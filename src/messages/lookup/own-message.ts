// A message of an account by the id that its client has: one that was sent, by our id, or one that was received, by
// WhatsApp's.
import { cachedSender, type Sender } from '../../accounts/store/senders.ts'
import { findInChunk, type ListSettings } from '../../campaigns/store/open-campaigns.ts'
import { type CancelResult, cancelMessage } from '../../lanes/cancel-message.ts'
import type { LaneQueues } from '../../queue/lane/queues.ts'
import type { Redis } from '../../redis/connect.ts'
import { type MessageId, messageId, parseMessageId } from '../message-id.ts'
import { findInbound, type InboundMessage } from '../store/inbound.ts'
import { type FoundMessage, findMessage, owns } from './lookup.ts'
import type { Delivery } from './message-schema.ts'

export type OwnMessage = { message: FoundMessage; sender: Sender } | { inbound: InboundMessage }

/** Undefined for one that does not exist, was forgotten after its retention, or belongs to another account. */
export async function findOwnMessage(
  redis: Redis,
  account: number,
  name: string,
  nowMs: number,
  lists: ListSettings,
): Promise<OwnMessage | undefined> {
  const id = parseMessageId(name)
  if (!id) {
    const inbound = await findInbound(redis, account, name)
    return inbound && { inbound }
  }
  const sender = await cachedSender(redis, id.lane)
  const message = owns(sender, account) ? await findMessage(redis, id, nowMs, lists) : undefined
  return sender && message ? { message, sender } : undefined
}

/** How its delivery stands. */
export function deliveryOf(found: OwnMessage): Delivery {
  if ('inbound' in found) return { status: 'delivered', error_message: null }
  const { state, problem } = found.message
  const tells = ['failed', 'unconfirmed', 'unknown'].includes(state)
  return { status: state, error_message: tells ? (problem?.sentence ?? null) : null }
}

/**
 * Cancels the message unless it was claimed, has ended or is past its validity. One in a chunk gets a job of its own first,
 * which is what is cancelled: dying in between, it is sent by that job, as if nobody had asked.
 */
export async function cancelWherever(
  deps: { redis: Redis; queues: LaneQueues; config: ListSettings & { retentionMs: number } },
  id: MessageId,
): Promise<CancelResult> {
  const { redis, queues, config } = deps
  const result = await cancelMessage(deps, id, config.retentionMs)
  if (result.verdict !== 'missing') return result
  const payload = await findInChunk(redis, id, config)
  if (payload === undefined) return cancelMessage(deps, id, config.retentionMs)
  await queues.add(messageId(id.lane, id.ulid), payload)
  return cancelMessage(deps, id, config.retentionMs)
}
