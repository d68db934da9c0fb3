// Looking messages up, sent and received. Both tell the same truth: the record, else the job that waits.
//
//   POST /chatappbusiness/fetchmessageinfo       everything about a message
//   POST /chatappbusiness/getmessgageinfobyid    its delivery status (the spelling is the interface's own)
import { z } from 'zod'
import { messageId, parseMessageId } from '../../messages/message-id.ts'
import { findInbound, type InboundMessage } from '../../store/inbound.ts'
import { type FoundMessage, findMessage, infoStatus, owns } from '../../store/lookup.ts'
import type { Redis } from '../../store/redis.ts'
import { findSender, type Sender } from '../../store/senders.ts'
import { notFound } from '../errors.ts'
import { fieldsOf } from '../fields.ts'
import type { Access, Call, Route } from '../route.ts'

const access: Access = { in: 'api_key', permission: 'messages:read' }
const bodySchema = z.object({ message_id: z.string() })

export function lookupRoutes(deps: { redis: Redis }): Route[] {
  return [
    {
      method: 'post',
      path: '/chatappbusiness/fetchmessageinfo',
      access,
      body: { as: 'json' },
      handle: async (call) => {
        const found = await look(deps.redis, call)
        return { body: { status: true, message: { data: 'inbound' in found ? inboundInfo(found) : sentInfo(found) } } }
      },
    },
    {
      method: 'post',
      path: '/chatappbusiness/getmessgageinfobyid',
      access,
      body: { as: 'json' },
      handle: async (call) => {
        const found = await look(deps.redis, call)
        const message = 'inbound' in found ? { status: 'delivered', error_message: null } : delivery(found.message)
        return { body: { status: true, message } }
      },
    },
  ]
}

type Found = { message: FoundMessage; sender: Sender } | { inbound: InboundMessage }

/** The message of a lookup; another account's is not told apart from one that does not exist. */
async function look(redis: Redis, call: Call): Promise<Found> {
  const { message_id } = fieldsOf(bodySchema, call.body)
  const { account } = call.caller
  const id = parseMessageId(message_id)
  if (id) {
    const sender = await findSender(redis, id.lane)
    const message = owns(sender, account) ? await findMessage(redis, id, Date.now()) : undefined
    if (sender && message) return { message, sender }
  } else {
    const inbound = await findInbound(redis, account, message_id)
    if (inbound) return { inbound }
  }
  throw notFound('The message')
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

function delivery(message: FoundMessage) {
  const tells = ['failed', 'unconfirmed', 'unknown'].includes(message.state)
  return { status: message.state, error_message: tells ? (message.problem?.sentence ?? null) : null }
}
