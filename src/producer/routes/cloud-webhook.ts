// Where the chat product's Cloud API reports: GET is the verification handshake, POST brings statuses and received
// messages. What a webhook tells is written before it is answered 200; when Redis is away the answer is 503, and the
// chat product brings it again for days. Doing it twice changes nothing.
import { timingSafeEqual } from 'node:crypto'
import type { Config } from '../../config.ts'
import type { Log } from '../../log.ts'
import { parseMessageId } from '../../messages/message-id.ts'
import { isSigned, type ReceivedMessage, readWebhook, type StatusUpdate } from '../../providers/cloud-webhook.ts'
import type { OpaqueIds } from '../../providers/opaque-id.ts'
import { parseJson } from '../../providers/parse-json.ts'
import { storeInbound } from '../../store/inbound.ts'
import { giveEvidence } from '../../store/messages.ts'
import type { Redis } from '../../store/redis.ts'
import { senderOfPhoneNumberId } from '../../store/senders.ts'
import { ApiError } from '../errors.ts'
import type { Answer, Call, DirectRoute, PlainAnswer, PlainCall, Route } from '../route.ts'

/** The chat product sends up to 3 MB and 1,000 updates in one POST. */
const LIMIT_BYTES = 4 * 1024 * 1024

interface WebhookDeps {
  redis: Redis
  config: Pick<Config, 'cloudApi' | 'retentionMs'>
  log: Log
  opaqueIds: OpaqueIds
}

export function cloudWebhookRoutes(deps: WebhookDeps): (Route | DirectRoute)[] {
  const path = '/webhooks/cloud-api'
  const access = { in: 'open', why: 'checks the signature or the verify token itself' } as const
  return [
    { method: 'get', path, access, body: { as: 'ignored' }, handle: async (call) => handshake(deps, call) },
    {
      direct: true,
      method: 'post',
      path,
      access,
      body: { as: 'raw', limit: LIMIT_BYTES },
      handle: (call: PlainCall) => receive(deps, call),
    },
  ]
}

function handshake(deps: WebhookDeps, call: Call): Answer {
  const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge } = call.query
  const expected = deps.config.cloudApi.verifyToken
  const isOurs = expected !== undefined && typeof token === 'string' && isSame(token, expected)
  if (mode !== 'subscribe' || !isOurs || typeof challenge !== 'string') {
    throw new ApiError(403, 'forbidden', 'The verify token is not the configured one.')
  }
  return {
    write: async (response) => {
      response.type('text/plain').send(challenge)
    },
  }
}

async function receive(deps: WebhookDeps, call: PlainCall): Promise<PlainAnswer> {
  const { appSecret } = deps.config.cloudApi
  const signature = call.header('x-hub-signature-256')
  if (appSecret === undefined || !isSigned(call.raw, signature, appSecret)) {
    throw new ApiError(401, 'bad_signature', 'X-Hub-Signature-256 does not match the body.')
  }
  const content = readWebhook(parseJson(call.raw.toString('utf8')))
  if (!content) throw new ApiError(400, 'invalid_body', 'The body is not a webhook of the chat product.')
  if (content.unreadable > 0) deps.log.warn({ items: content.unreadable }, 'webhook.unreadable_items')

  // All at once: the commands share the connection's round trips, a thousand of them take some 30 ms.
  const done = await Promise.allSettled([
    ...content.statuses.map((update) => settleBy(deps, update)),
    ...content.received.map((message) => keep(deps, message)),
  ])
  const failure = done.find((each) => each.status === 'rejected')
  if (failure) throw failure.reason
  return { body: { status: true, message: 'received' } }
}

async function settleBy(deps: WebhookDeps, update: StatusUpdate): Promise<void> {
  // Not ours: another app on the same number, or a forgery. Nothing of ours may move because of it.
  const ours = update.opaque === undefined ? undefined : deps.opaqueIds.read(update.opaque)
  const id = ours && parseMessageId(ours.id)
  if (!ours || !id) return
  await giveEvidence(deps.redis, id, ours.attempt, update.status, {
    providerId: update.providerId,
    problem: update.problem,
    atMs: update.atMs,
  })
}

async function keep(deps: WebhookDeps, message: ReceivedMessage): Promise<void> {
  const sender = await senderOfPhoneNumberId(deps.redis, message.phoneNumberId)
  if (!sender) return
  await storeInbound(
    deps.redis,
    sender.account,
    {
      id: message.providerId,
      lane: sender.id,
      from: message.from,
      type: message.type,
      text: message.text,
      received_at: message.atMs,
    },
    deps.config.retentionMs,
  )
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
