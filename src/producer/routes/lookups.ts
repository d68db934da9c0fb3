// Looking messages up, sent and received. Both tell the same truth: the record, else the job that waits.
//
//   POST /chatappbusiness/fetchmessageinfo       everything about a message
//   POST /chatappbusiness/getmessgageinfobyid    its delivery status (the spelling is the interface's own)
import { z } from 'zod'
import type { Sender } from '../../accounts/store/senders.ts'
import { type FoundMessage, infoStatus } from '../../lookup/lookup.ts'
import { deliveryOf, findOwnMessage, type OwnMessage } from '../../lookup/own-message.ts'
import { messageId } from '../../messages/message-id.ts'
import type { InboundMessage } from '../../messages/store/inbound.ts'
import type { Redis } from '../../redis/connect.ts'
import { notFound } from '../errors.ts'
import { fieldsOf } from '../fields.ts'
import { ignoredIn } from '../ignored.ts'
import type { Access, DirectRoute, PlainCall } from '../route.ts'

const access: Access = { in: 'api_key', permission: 'messages:read' }
const bodySchema = z.object({ message_id: z.string() })
const FIELDS = ['api_key', 'message_id']

export function lookupRoutes(deps: { redis: Redis }): DirectRoute[] {
  return [
    {
      direct: true,
      method: 'post',
      path: '/chatappbusiness/fetchmessageinfo',
      access,
      body: { as: 'json' },
      handle: async (call) => {
        const found = await look(deps.redis, call)
        const data = 'inbound' in found ? inboundInfo(found) : sentInfo(found)
        return { headers: ignoredIn(call.body, FIELDS), body: { status: true, message: { data } } }
      },
    },
    {
      direct: true,
      method: 'post',
      path: '/chatappbusiness/getmessgageinfobyid',
      access,
      body: { as: 'json' },
      handle: async (call) => {
        const found = await look(deps.redis, call)
        return { headers: ignoredIn(call.body, FIELDS), body: { status: true, message: deliveryOf(found) } }
      },
    },
  ]
}

/** The message of a lookup; another account's is not told apart from one that does not exist. */
async function look(redis: Redis, call: PlainCall): Promise<OwnMessage> {
  const { message_id } = fieldsOf(bodySchema, call.body)
  const found = await findOwnMessage(redis, call.caller.account, message_id, Date.now())
  if (!found) throw notFound('The message')
  return found
}

function sentInfo({ message, sender }: { message: FoundMessage; sender: Sender }) {
  return {
    message_id: messageId(message.id.lane, message.id.ulid),
    message_text: message.text,
    message_type: message.type,
    message_from: sender.number,
    direction: 'outbound',
    status: infoStatus(message.state),
    timestamp: Math.floor((message.sentAtMs ?? message.acceptedAtMs) / 1_000),
  }
}

function inboundInfo({ inbound }: { inbound: InboundMessage }) {
  return {
    message_id: inbound.id,
    message_text: inbound.text,
    message_type: inbound.type,
    message_from: inbound.from,
    direction: 'inbound',
    status: 'success',
    timestamp: Math.floor(inbound.received_at / 1_000),
  }
}
