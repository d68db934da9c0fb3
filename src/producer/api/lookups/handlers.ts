// Looking messages up, sent and received. Both show the same truth: the record, else the job that waits.

import type { Sender } from '../../../accounts/store/senders.ts'
import type { ListSettings } from '../../../campaigns/store/in-chunk.ts'
import { assertForSender } from '../../../messages/accept/check-key.ts'
import { type FoundMessage, infoStatus } from '../../../messages/lookup/lookup.ts'
import { deliveryOf, findOwnMessage, type OwnMessage } from '../../../messages/lookup/own-message.ts'
import { messageId } from '../../../messages/message-id.ts'
import type { InboundMessage } from '../../../messages/store/inbound.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { notFound } from '../../errors.ts'
import type { CallOf } from '../../route.ts'
import { lookups } from './routes.ts'

/** The routes of routes/lookups.ts. */
export function lookupRoutes({ redis, config }: { redis: Redis; config: ListSettings }): Route[] {
  /** The message of a lookup; another account's does not exist for the caller. */
  async function look({ caller, body }: CallOf<typeof lookups.info>): Promise<OwnMessage> {
    const found = await findOwnMessage(redis, caller.account, body.message_id, Date.now(), config)
    if (!found) throw notFound('The message')
    assertForSender(caller, 'inbound' in found ? found.inbound.lane : found.sender.id)
    return found
  }

  return bind(lookups)({
    async info(call) {
      const found = await look(call)
      const data = 'inbound' in found ? inboundInfo(found) : sentInfo(found)
      return { body: { status: true, message: { data } } }
    },
    delivery: async (call) => ({ body: { status: true, message: deliveryOf(await look(call)) } }),
  })
}

const sentInfo = ({ message, sender }: { message: FoundMessage; sender: Sender }) => ({
  message_id: messageId(message.id.lane, message.id.ulid),
  message_text: message.text,
  message_type: message.type,
  message_from: sender.number,
  direction: 'outbound' as const,
  status: infoStatus(message.state),
  timestamp: Math.floor((message.sentAtMs ?? message.acceptedAtMs) / 1_000),
})

const inboundInfo = ({ inbound }: { inbound: InboundMessage }) => ({
  message_id: inbound.id,
  message_text: inbound.text,
  message_type: inbound.type,
  message_from: inbound.from,
  direction: 'inbound' as const,
  status: 'success' as const,
  timestamp: Math.floor(inbound.received_at / 1_000),
})
