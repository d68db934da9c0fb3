// Webhooks of WhatsApp's Cloud API: GET is the verification handshake, POST brings statuses and received messages.
// Everything in a webhook is stored before it is answered 200. When Redis is away the answer is 503, and WhatsApp
// sends it again for days, and so it is while Redis holds other data than ours. Storing it twice changes nothing. Any other
// error is logged and answered 200: it would meet every repeat as well, and no item waits for another.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { setImmediate as nextTick } from 'node:timers/promises'
import { cachedAccount } from '../../../accounts/accounts.ts'
import { cachedSender, senderOfPhoneNumberId } from '../../../accounts/senders.ts'
import { noteWebhook, webhooksOf } from '../../../accounts/webhook-arrivals.ts'
import {
  addWebhookSecret,
  countWebhookSecrets,
  removeWebhookSecrets,
  webhookSecrets as secretsOf,
} from '../../../accounts/webhook-secrets.ts'
import { createCampaignRefusals } from '../../../campaigns/fan-out/circuit-breaker.ts'
import { addReply } from '../../../campaigns/store/replies.ts'
import { addReceivedMedium } from '../../../gallery/received-media.ts'
import type { Config } from '../../../kernel/config.ts'
import { isoOrNull } from '../../../kernel/instant.ts'
import type { Log } from '../../../kernel/log.ts'
import { parseMessageId } from '../../../kernel/message-id.ts'
import type { Seal } from '../../../kernel/seal.ts'
import { namesOfWriter, opensWindow, storeInbound } from '../../../lanes/messages/inbound.ts'
import type { LaneQueues } from '../../../lanes/queues.ts'
import { NO_ACCOUNT } from '../../../model/accounts/permissions.ts'
import { outcomeOfReport } from '../../../model/messages/outcome.ts'
import { eraseOptOut } from '../../../people/opt-outs/opt-outs.ts'
import type { Tombstones } from '../../../people/tombstones.ts'
import type { AccountUpdate } from '../../../providers/account-updates.ts'
import type { OpaqueIds } from '../../../providers/cloud-api.ts'
import type { Preference } from '../../../providers/cloud-preferences.ts'
import type { ReceivedMessage } from '../../../providers/cloud-received.ts'
import type { StatusUpdate } from '../../../providers/cloud-statuses.ts'
import { isSigned, looksSigned, readWebhook } from '../../../providers/cloud-webhook.ts'
import type { Redis } from '../../../redis/connect.ts'
import { isRedisAway } from '../../../redis/errors.ts'
import { assertGaveOutLane, assertSameInstallation } from '../../../redis/installation.ts'
import { inboundDigest } from '../../../redis/keys.ts'
import { actOn } from '../../../reports/act-on.ts'
import { applyAccountUpdate } from '../../../reports/apply-account-update.ts'
import { applyOptOutKeyword, applyPreference } from '../../../reports/apply-opt-outs.ts'
import { addNextWave, applyReport, type ReportDeps } from '../../../reports/apply-report.ts'
import { bind, type Route } from '../../bind.ts'
import { parseRaw } from '../../body.ts'
import { ApiError } from '../../errors.ts'
import type { AnswerOf, ContextOf } from '../../route.ts'
import { says, shows } from '../answers.ts'
import { inTurn } from './in-turn.ts'
import { createLearning, type LearnDeps, type Learning } from './learn.ts'
import { createRareWarnings, type RareWarnings } from './rare-warnings.ts'
import { webhookSecrets, webhooks } from './routes.ts'

/** Updates that are stored at the same time. */
const AT_ONCE = 200

interface WebhookDeps {
  redis: Redis
  config: Pick<Config, 'cloudApi' | 'receivedRetentionMs' | 'capMs' | 'retentionMs'>
  log: Log
  opaqueIds: OpaqueIds
  tombstones: Tombstones
  seal: Seal
  queues: LaneQueues
  rareWarnings: RareWarnings
  learning: Learning
  reports: ReportDeps
}

/** The account that a webhook is for, undefined for all of them, and the secrets that may have signed it. */
interface Source {
  account: number | undefined
  secrets: readonly string[]
}

export function webhookRoutes(given: Omit<WebhookDeps, 'rareWarnings' | 'learning' | 'reports'> & LearnDeps): Route[] {
  const reports = { ...given, lanes: given.queues, refusals: createCampaignRefusals(given) }
  const deps: WebhookDeps = {
    ...given,
    learning: createLearning(given),
    rareWarnings: createRareWarnings(given.log),
    reports,
  }
  const { redis, seal } = deps
  const ofInstallation = { account: undefined, secrets: onlyGiven(deps.config.cloudApi.appSecret) }
  const installationTokens = onlyGiven(deps.config.cloudApi.verifyToken)

  // Up to 4 MB are read only of a request that claims to be signed.
  const refuseUnsigned = (headers: IncomingHttpHeaders): void => {
    if (!looksSigned(headers)) throw badSignature()
  }
  return bind(webhooks)(
    {
      handshake: async ({ query }) => shake(query, installationTokens),
      report: (call) => receive(deps, call, ofInstallation),
      async accountHandshake({ params, query }) {
        return shake(query, await secretsOf(redis, seal, Number(params.account), 'verify_token'))
      },
      async accountReport({ params, ...call }) {
        const account = Number(params.account)
        return receive(deps, call, { account, secrets: await secretsOf(redis, seal, account, 'app_secret') })
      },
    },
    {
      report(headers) {
        if (ofInstallation.secrets.length === 0) {
          // WhatsApp may have been given this address for one of an account.
          if (looksSigned(headers)) noteWebhook(redis, NO_ACCOUNT, 'refused', Date.now())
          throw badSignature()
        }
        refuseUnsigned(headers)
      },
      accountReport: refuseUnsigned,
    },
  )
}

const onlyGiven = (secret: string | undefined): string[] => (secret === undefined ? [] : [secret])

function shake(query: ContextOf<typeof webhooks.handshake>['query'], tokens: readonly string[]): { text: string } {
  const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge } = query
  const isOurs = typeof token === 'string' && tokens.some((each) => isSame(token, each))
  if (mode !== 'subscribe' || !isOurs || typeof challenge !== 'string') {
    throw new ApiError(403, 'forbidden', 'The verify token is not the configured one.')
  }
  return { text: challenge }
}

async function receive(
  deps: WebhookDeps,
  { raw, headers }: Pick<ContextOf<typeof webhooks.report>, 'raw' | 'headers'>,
  { account, secrets }: Source,
): Promise<AnswerOf<typeof webhooks.report>> {
  const signature = headers['X-Hub-Signature-256']
  if (!secrets.some((secret) => isSigned(raw, signature, secret))) {
    // Those of an account may be missing with all else.
    if (secrets.length === 0) await assertSameInstallation(deps.redis)
    // Without a secret there may be no such account.
    else noteWebhook(deps.redis, account ?? NO_ACCOUNT, 'refused', Date.now())
    throw badSignature()
  }
  // Before anything of it is taken for somebody else's, and dropped.
  await assertSameInstallation(deps.redis)
  noteWebhook(deps.redis, account ?? NO_ACCOUNT, 'good', Date.now())
  const content = await readWebhook(await parseRaw(raw))
  if (!content) throw new ApiError(400, 'invalid_body', 'The body is not a webhook of WhatsApp.')
  if (content.unreadable > 0) deps.log.warn({ items: content.unreadable }, 'webhook.unreadable_items')
  // First: what the people of this webhook say holds for all their names. Reports are evidence also where that cannot be kept,
  // as while Redis is full; then the webhook comes again.
  const errors = await deps.learning.learnAccounts(content.numbers, account)
  errors.push(...(await deps.learning.learnPeople(content.namings, account)))

  const work = [
    ...content.statuses.map((update) => () => applyStatus(deps, update, account)),
    ...content.received.map((message) => () => store(deps, message, account)),
    ...content.preferences.map((preference) => () => applyOptOut(deps, preference, account)),
  ]
  // Many at once share the connection's round trips; all of them would block the event loop for 30 ms.
  for (let at = 0; at < work.length; at += AT_ONCE) {
    const done = await Promise.allSettled(work.slice(at, at + AT_ONCE).map((each) => each()))
    for (const each of done) if (each.status === 'rejected') errors.push(each.reason)
    // Redis may have answered all of them within one tick.
    await nextTick()
  }
  // One after the other: of two that are about one thing each looks at what the other has written.
  errors.push(...(await inTurn(content.accountUpdates, (update) => take(deps, update, account))))
  const faults = errors.filter((error) => !isRedisAway(error))
  if (faults.length > 0) deps.log.error({ items: faults.length, err: faults[0] }, 'webhook.items_failed')
  if (faults.length < errors.length) throw errors.find(isRedisAway)
  return says('received')
}

async function applyStatus(deps: WebhookDeps, update: StatusUpdate, account: number | undefined): Promise<void> {
  // Not ours: another app on the same number, or a forgery. It must change nothing.
  if (update.opaque === undefined) return deps.rareWarnings.statusWithoutId()
  const ours = deps.opaqueIds.verify(update.opaque)
  const id = ours && parseMessageId(ours.id)
  if (!ours || !id) return
  const sender = await cachedSender(deps.redis, id.lane)
  if (sender === undefined) return assertGaveOutLane(deps.redis, id.lane)
  if (sender.account !== (account ?? sender.account)) return
  const { status, problem, atMs, providerId, pricing } = update
  const result = await applyReport(deps.reports, sender, {
    id,
    attempt: ours.attempt,
    status,
    problem,
    atMs,
    providerId,
    pricing,
  })
  await addNextWave(deps, id, result)
}

async function take(deps: WebhookDeps, update: AccountUpdate, account: number | undefined): Promise<void> {
  if (!update.isKnown) deps.rareWarnings.otherField(update.field)
  const { redis, queues, config } = deps
  await actOnNumber(deps, update, account)
  const kept = await applyAccountUpdate({ redis, queues, retentionMs: config.retentionMs }, update, account)
  if (kept.includes('missed')) deps.rareWarnings.missedNotice(update.field)
}

/** An error of a number stops or slows it as the same error of one of its messages would. Before the notice, so that it is repeated. */
async function actOnNumber(
  deps: WebhookDeps,
  { problem, phoneNumberId, atMs }: AccountUpdate,
  account: number | undefined,
): Promise<void> {
  const outcome = problem && outcomeOfReport(problem)
  if (outcome === undefined || phoneNumberId === undefined) return
  const sender = await senderOfPhoneNumberId(deps.redis, phoneNumberId)
  if (sender === undefined || sender.account !== (account ?? sender.account)) return
  const nowMs = Date.now()
  await actOn(deps.reports, { lane: sender.id }, outcome, { atMs: Math.min(atMs ?? nowMs, nowMs), isRepeated: false })
}

/** The sender with the number, if it is of the account that the webhook is for. */
async function senderFor(deps: WebhookDeps, phoneNumberId: string, account: number | undefined) {
  const sender = await senderOfPhoneNumberId(deps.redis, phoneNumberId)
  if (sender && (account === undefined || sender.account === account)) return sender
  // Without a single sender nothing can be another's: the right data are not there yet.
  await assertGaveOutLane(deps.redis, 1)
  deps.rareWarnings.unknownNumber(phoneNumberId)
  return undefined
}

async function store(deps: WebhookDeps, message: ReceivedMessage, account: number | undefined): Promise<void> {
  const sender = await senderFor(deps, message.phoneNumberId, account)
  if (!sender) return
  const { account: owner, id: lane } = sender
  const { providerId: id, from, type, text, parts } = message
  const nowMs = Date.now()
  // A time in the future comes from a wrong clock and would put the message before all others until then.
  const received = { id, lane, from, type, text, parts, received_at: Math.min(message.atMs ?? nowMs, nowMs) }
  const names = namesOfWriter(received)
  if (await isOfBeforeErasure(deps, owner, names, message.atMs)) {
    // Repeated, or late. That they wanted no advertising holds all the same, without a name.
    await applyOptOutKeyword(deps.redis, owner, received, received.received_at)
    await eraseOptOut(deps.redis, owner, names)
    return
  }
  await storeInbound(deps.redis, owner, received, deps.config.receivedRetentionMs, async (receivedAt) => {
    await applyOptOutKeyword(deps.redis, owner, received, message.atMs ?? receivedAt)
    if (parts.media !== undefined) await keepMedia(deps, owner, { id, lane })
    if (opensWindow(received)) await addReply(deps.redis, lane, { message: inboundDigest(id), receivedAt })
  })
}

/** Has a worker fetch the file that came with a message, where the account keeps received media. */
async function keepMedia(
  deps: WebhookDeps,
  account: number,
  { id, lane }: { id: string; lane: number },
): Promise<void> {
  if ((await cachedAccount(deps.redis, account))?.keep_received_media !== 'on') return
  if (await addReceivedMedium(deps.redis, { account, lane, message: inboundDigest(id) })) return
  deps.rareWarnings.mediaNotKept(account)
}

async function applyOptOut(deps: WebhookDeps, preference: Preference, account: number | undefined): Promise<void> {
  const sender = await senderFor(deps, preference.phoneNumberId, account)
  if (!sender) return
  await applyPreference(deps.redis, sender.account, preference)
  const { people, atMs } = preference
  // As above. Dying in between leaves the names there until the webhook comes again, as it was not answered.
  if (await isOfBeforeErasure(deps, sender.account, people, atMs)) await eraseOptOut(deps.redis, sender.account, people)
}

/** Whether a person with one of these names was erased after this time (epoch ms). */
const isOfBeforeErasure = async (
  { tombstones }: Pick<WebhookDeps, 'tombstones'>,
  account: number,
  names: readonly string[],
  atMs: number | undefined,
): Promise<boolean> => atMs !== undefined && (await tombstones.erasedOf(account, names, atMs)).size > 0

const badSignature = (): ApiError => new ApiError(401, 'bad_signature', 'X-Hub-Signature-256 does not match the body.')

/** Compares digests in constant time, whatever the lengths. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digestOf(a), digestOf(b))

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Secrets of an account's own webhooks. */
export const webhookSecretRoutes = ({ redis, seal }: { redis: Redis; seal: Seal }): Route[] =>
  bind(webhookSecrets)({
    async list({ caller: { account } }) {
      const counts = await countWebhookSecrets(redis, account)
      const came = await webhooksOf(redis, account, counts['webhook.app_secret'] > 0, Date.now())
      const { lastGoodAtMs, refusedLastHour, refusedLastDay } = came
      return shows('webhook secrets', {
        ...counts,
        last_good_at: isoOrNull(lastGoodAtMs ?? undefined),
        refused_last_hour: refusedLastHour,
        refused_last_day: refusedLastDay,
      })
    },
    async add({ caller: { account }, params, body }) {
      await addWebhookSecret(redis, seal, account, params.name, body.secret)
      return shows('added', await countWebhookSecrets(redis, account))
    },
    async remove({ caller: { account }, params, query, audit }) {
      const removed = await removeWebhookSecrets(redis, account, params.name, query.all === 'true')
      if (removed === 0) audit('nothing')
      return shows('removed', await countWebhookSecrets(redis, account))
    },
  })
