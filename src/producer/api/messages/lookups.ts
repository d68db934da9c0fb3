// Lookups of the older interface. Both show the same truth: the record, else the job that waits.
import type { Sender } from '../../../accounts/store/senders.ts'
import type { ListSettings } from '../../../campaigns/store/open-campaigns.ts'
import { type FoundMessage, infoStatus } from '../../../messages/lookup/lookup.ts'
import { deliveryOf } from '../../../messages/lookup/own-message.ts'
import { messageId } from '../../../messages/message-id.ts'
import type { InboundMessage } from '../../../messages/store/inbound.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { ownMessage } from './handlers.ts'
import { lookups } from './routes.ts'

export const lookupRoutes = (deps: { redis: Redis; config: ListSettings }): Route[] =>
  bind(lookups)({
    async info({ caller, body }) {
      const found = await ownMessage(deps, caller, body.message_id)
      const data = 'inbound' in found ? inboundInfo(found) : sentInfo(found)
      return { body: { status: true, message: { data } } }
    },
    async delivery({ caller, body }) {
      return { body: { status: true, message: deliveryOf(await ownMessage(deps, caller, body.message_id)) } }
    },
  })

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
