// Where the chat product's Cloud API reports: GET is the verification handshake, POST brings statuses and received
// messages. What a webhook reports is written before it is answered 200; when Redis is away the answer is 503, and the
// chat product brings it again for days. Doing it twice changes nothing.
import { timingSafeEqual } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { senderOfPhoneNumberId } from '../../accounts/store/senders.ts'
import type { Config } from '../../config.ts'
import type { Log } from '../../log.ts'
import { parseMessageId } from '../../messages/message-id.ts'
import { storeInbound } from '../../messages/store/inbound.ts'
import { recordStatus } from '../../messages/store/steps.ts'
import {
  isSignature,
  isSigned,
  type ReceivedMessage,
  readWebhook,
  type StatusUpdate,
} from '../../providers/cloud-webhook.ts'
import type { OpaqueIds } from '../../providers/opaque-id.ts'
import type { Redis } from '../../redis/connect.ts'
import { bind, type Route } from '../bind.ts'
import { parseRaw } from '../body.ts'
import { ApiError } from '../errors.ts'
import type { AnswerOf, CallOf } from '../route.ts'
import { webhooks } from '../routes/webhooks.ts'

const SIGNATURE = 'x-hub-signature-256'
/** Updates that are written down at once. */
const AT_ONCE = 200

interface WebhookDeps {
  redis: Redis
  config: Pick<Config, 'cloudApi' | 'retentionMs'>
  log: Log
  opaqueIds: OpaqueIds
}

/** The routes of routes/webhooks.ts. */
export function webhookRoutes(deps: WebhookDeps): Route[] {
  const { appSecret, verifyToken } = deps.config.cloudApi
  return bind(webhooks)(
    {
      async handshake({ query }) {
        const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge } = query
        const isOurs = verifyToken !== undefined && typeof token === 'string' && isSame(token, verifyToken)
        if (mode !== 'subscribe' || !isOurs || typeof challenge !== 'string') {
          throw new ApiError(403, 'forbidden', 'The verify token is not the configured one.')
        }
        return { text: challenge }
      },
      report: (call) => receive(deps, call),
    },
    {
      report(headers) {
        // 4 MB are read only for those that claim to have signed them.
        if (appSecret === undefined || !isSignature(headers[SIGNATURE])) throw badSignature()
      },
    },
  )
}

async function receive(
  deps: WebhookDeps,
  { raw, headers }: CallOf<typeof webhooks.report>,
): Promise<AnswerOf<typeof webhooks.report>> {
  const { appSecret } = deps.config.cloudApi
  if (appSecret === undefined || !isSigned(raw, headers['X-Hub-Signature-256'], appSecret)) throw badSignature()
  const content = await readWebhook(await parseRaw(raw))
  if (!content) throw new ApiError(400, 'invalid_body', 'The body is not a webhook of the chat product.')
  if (content.unreadable > 0) deps.log.warn({ items: content.unreadable }, 'webhook.unreadable_items')

  const work = [
    ...content.statuses.map((update) => () => settleBy(deps, update)),
    ...content.received.map((message) => () => keep(deps, message)),
  ]
  // Many at once: the commands share the connection's round trips. As many as may come would be 30 ms without a turn.
  let failure: PromiseRejectedResult | undefined
  for (let at = 0; at < work.length; at += AT_ONCE) {
    const done = await Promise.allSettled(work.slice(at, at + AT_ONCE).map((each) => each()))
    failure ??= done.find((each) => each.status === 'rejected')
    // Redis may have answered all of them within one turn.
    await nextTurn()
  }
  if (failure) throw failure.reason
  return { body: { status: true, message: 'received' } }
}

async function settleBy(deps: WebhookDeps, update: StatusUpdate): Promise<void> {
  // Not ours: another app on the same number, or a forgery. Nothing of ours may move because of it.
  const ours = update.opaque === undefined ? undefined : deps.opaqueIds.verify(update.opaque)
  const id = ours && parseMessageId(ours.id)
  if (!ours || !id) return
  await recordStatus(deps.redis, id, ours.attempt, update.status, {
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
      parts: message.parts,
      received_at: message.atMs ?? Date.now(),
    },
    deps.config.retentionMs,
  )
}

const badSignature = (): ApiError => new ApiError(401, 'bad_signature', 'X-Hub-Signature-256 does not match the body.')

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
