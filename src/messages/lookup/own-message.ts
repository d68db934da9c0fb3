// A message of an account by the id that its client has: one that was sent, by our id, or one that was received, by
// WhatsApp's.

import { cachedSender, type Sender } from '../../accounts/senders.ts'
import { parseMessageId } from '../../kernel/message-id.ts'
import { archiveOf, type InboundMessage } from '../../lanes/archive/archive.ts'
import type { ListSettings } from '../../recipients/unclaimed-message.ts'
import type { Redis } from '../../redis/connect.ts'
import { type FoundMessage, findMessage, owns } from './lookup.ts'
import type { Delivery } from './message-schema.ts'

export type OwnMessage = { message: FoundMessage; sender: Sender } | { inbound: InboundMessage }

/** Undefined for one that does not exist, has expired, or belongs to another account. */
export async function findOwnMessage(
  redis: Redis,
  account: number,
  name: string,
  nowMs: number,
  lists: ListSettings,
): Promise<OwnMessage | undefined> {
  const id = parseMessageId(name)
  if (!id) {
    const inbound = await archiveOf(redis).find({ account, id: name })
    return inbound && { inbound }
  }
  const sender = await cachedSender(redis, id.lane)
  const message = owns(sender, account) ? await findMessage(redis, id, nowMs, lists) : undefined
  return sender && message ? { message, sender } : undefined
}

/** The state of its delivery. */
export function deliveryOf(found: OwnMessage): Delivery {
  if ('inbound' in found) return { status: 'delivered', error_message: null }
  const { state, problem } = found.message
  const hasError = ['failed', 'unconfirmed', 'unknown'].includes(state)
  return { status: state, error_message: hasError ? (problem?.sentence ?? null) : null }
}
