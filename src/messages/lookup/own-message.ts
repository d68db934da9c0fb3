// A message of an account by the id that its client has: one that was sent, by our id, or one that was received, by the
// chat product's.

import { cachedSender, type Sender } from '../../accounts/store/senders.ts'
import type { ListSettings } from '../../campaigns/store/open-campaigns.ts'
import type { Redis } from '../../redis/connect.ts'
import { parseMessageId } from '../message-id.ts'
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
