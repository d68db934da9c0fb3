// Where the chat product's Cloud API reports: GET is the verification handshake, POST brings statuses and received
// messages. What a webhook reports is written before it is answered 200; when Redis is away the answer is 503, and the
// chat product brings it again for days. Doing it twice changes nothing.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Seal } from '../../../accounts/seal.ts'
import { cachedSender, senderOfPhoneNumberId } from '../../../accounts/store/senders.ts'
import { webhookSecrets } from '../../../accounts/store/webhook-secrets.ts'
import type { Config } from '../../../config.ts'
import type { Log } from '../../../log.ts'
import { parseMessageId } from '../../../messages/message-id.ts'
import { storeInbound } from '../../../messages/store/inbound.ts'
import { recordStatus } from '../../../messages/store/steps.ts'
import { heedPreference, heedRefusalOf, heedWords } from '../../../people/opt-outs/commands/heed.ts'
import type { OpaqueIds } from '../../../providers/cloud-api.ts'
import type { Preference } from '../../../providers/cloud-preferences.ts'
import {
  isSignature,
  isSigned,
  type ReceivedMessage,
  readWebhook,
  type StatusUpdate,
} from '../../../providers/cloud-webhook.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { parseRaw } from '../../body.ts'
import { ApiError } from '../../errors.ts'
import type { AnswerOf, CallOf } from '../../route.ts'
import { type Asides, createAsides } from './asides.ts'
import { webhooks } from './routes.ts'

const SIGNATURE = 'x-hub-signature-256'
/** Updates that are written down at once. */
const AT_ONCE = 200

interface WebhookDeps {
  redis: Redis
  config: Pick<Config, 'cloudApi' | 'receivedRetentionMs'>
  log: Log
  opaqueIds: OpaqueIds
  seal: Seal
  asides: Asides
}

/** Who may have signed, and what it is about: one account, or undefined for all of them. */
interface Source {
  account: number | undefined
  secrets: readonly string[]
}

/** The routes of routes/webhooks.ts. */
export function webhookRoutes(given: Omit<WebhookDeps, 'asides'>): Route[] {
  const deps: WebhookDeps = { ...given, asides: createAsides(given.log) }
  const { redis, seal } = deps
  const ofInstallation = { account: undefined, secrets: onlyGiven(deps.config.cloudApi.appSecret) }
  const installationTokens = onlyGiven(deps.config.cloudApi.verifyToken)

  // 4 MB are read only for those that claim to have signed them.
  const looksSigned = (headers: IncomingHttpHeaders): void => {
    if (!isSignature(headers[SIGNATURE])) throw badSignature()
  }
  return bind(webhooks)(
    {
      async handshake({ query }) {
        return shake(query, installationTokens)
      },
      report: (call) => receive(deps, call, ofInstallation),
      async accountHandshake({ params, query }) {
        return shake(query, await webhookSecrets(redis, seal, Number(params.account), 'verify_token'))
      },
      async accountReport({ params, ...call }) {
        const account = Number(params.account)
        return receive(deps, call, { account, secrets: await webhookSecrets(redis, seal, account, 'app_secret') })
      },
    },
    {
      report(headers) {
        if (ofInstallation.secrets.length === 0) throw badSignature()
        looksSigned(headers)
      },
      accountReport: looksSigned,
    },
  )
}

const onlyGiven = (secret: string | undefined): string[] => (secret === undefined ? [] : [secret])

function shake(query: CallOf<typeof webhooks.handshake>['query'], tokens: readonly string[]): { text: string } {
  const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge } = query
  const isOurs = typeof token === 'string' && tokens.some((each) => isSame(token, each))
  if (mode !== 'subscribe' || !isOurs || typeof challenge !== 'string') {
    throw new ApiError(403, 'forbidden', 'The verify token is not the configured one.')
  }
  return { text: challenge }
}

async function receive(
  deps: WebhookDeps,
  { raw, headers }: Pick<CallOf<typeof webhooks.report>, 'raw' | 'headers'>,
  { account, secrets }: Source,
): Promise<AnswerOf<typeof webhooks.report>> {
  const signature = headers['X-Hub-Signature-256']
  if (!secrets.some((secret) => isSigned(raw, signature, secret))) throw badSignature()
  const content = await readWebhook(await parseRaw(raw))
  if (!content) throw new ApiError(400, 'invalid_body', 'The body is not a webhook of WhatsApp.')
  if (content.unreadable > 0) deps.log.warn({ items: content.unreadable }, 'webhook.unreadable_items')
  for (const field of content.otherFields) deps.asides.otherField(field)

  const work = [
    ...content.statuses.map((update) => () => settleBy(deps, update, account)),
    ...content.received.map((message) => () => keep(deps, message, account)),
    ...content.preferences.map((preference) => () => heed(deps, preference, account)),
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

async function settleBy(deps: WebhookDeps, update: StatusUpdate, account: number | undefined): Promise<void> {
  // Not ours: another app on the same number, or a forgery. Nothing of ours may move because of it.
  const ours = update.opaque === undefined ? undefined : deps.opaqueIds.verify(update.opaque)
  const id = ours && parseMessageId(ours.id)
  if (!ours || !id) return
  if (account !== undefined && (await cachedSender(deps.redis, id.lane))?.account !== account) return
  if (update.problem) await heedRefusalOf(deps.redis, id, update.problem, update.atMs)
  await recordStatus(deps.redis, id, ours.attempt, update.status, {
    providerId: update.providerId,
    problem: update.problem,
    atMs: update.atMs,
  })
}

async function keep(deps: WebhookDeps, message: ReceivedMessage, account: number | undefined): Promise<void> {
  const sender = await senderOfPhoneNumberId(deps.redis, message.phoneNumberId)
  if (!sender || (account !== undefined && sender.account !== account)) {
    return deps.asides.unknownNumber(message.phoneNumberId)
  }
  const { account: owner, id: lane } = sender
  const { providerId: id, from, type, text, parts } = message
  const nowMs = Date.now()
  // A time to come is a clock that goes wrong: the message would stand before all others for as long.
  const received = { id, lane, from, type, text, parts, received_at: Math.min(message.atMs ?? nowMs, nowMs) }
  await storeInbound(deps.redis, owner, received, deps.config.receivedRetentionMs, (receivedAt) =>
    heedWords(deps.redis, owner, received, message.atMs ?? receivedAt),
  )
}

async function heed(deps: WebhookDeps, preference: Preference, account: number | undefined): Promise<void> {
  const sender = await senderOfPhoneNumberId(deps.redis, preference.phoneNumberId)
  if (!sender || (account !== undefined && sender.account !== account)) {
    return deps.asides.unknownNumber(preference.phoneNumberId)
  }
  await heedPreference(deps.redis, sender.account, preference)
}

const badSignature = (): ApiError => new ApiError(401, 'bad_signature', 'X-Hub-Signature-256 does not match the body.')

/** Compares digests: how long it takes says nothing of where they differ, nor of how long the token is. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digestOf(a), digestOf(b))

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()
