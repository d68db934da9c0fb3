// Adds, changes and removes senders: the same over HTTP and on the command line.

import { addSender, changeSenderName, type NewSender, removeSender, SenderTakenError } from '../accounts/add-sender.ts'
import {
  defaultSender,
  findSender,
  listReadableSenders,
  listSenders,
  type Sender,
  setDefaultSender,
  setSenderAccess,
  setSenderProvider,
  setSenderRate,
  tokenContextOf,
} from '../accounts/senders.ts'
import { askForSync } from '../accounts/template-syncs.ts'
import { hasWebhookSecret } from '../accounts/webhook-secrets.ts'
import { listCampaigns } from '../campaigns/store/list.ts'
import { isPlainAddress, PLAIN_PROVIDER, UNVERIFIED_WEBHOOKS } from '../kernel/config-checks.ts'
import { doesNotExist, invalidFields, Refusal } from '../kernel/refusal.ts'
import type { Seal } from '../kernel/seal.ts'
import { closeLane } from '../lanes/closed-lanes.ts'
import { laneOf } from '../lanes/control.ts'
import { countPlaces } from '../lanes/places.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import { countOnSweepLists } from '../lanes/sweep-lists.ts'
import { refuseRoute } from '../messages/accept/provider-support.ts'
import type { MarketingRoute, SenderDocument } from '../model/accounts/sender.ts'
import { CAMPAIGN_STATES, type CampaignState, hasEnded } from '../model/campaigns/lifecycle.ts'
import { idOf } from '../recipients/campaigns.ts'
import type { Redis } from '../redis/connect.ts'

/** Dependencies of managing senders; `seal` is that of LANEWAY_SECRET_KEYS. */
export interface SenderDeps {
  redis: Redis
  queues: LaneQueues
  seal: Seal
  /** Whether plain http to a provider and unverified webhooks are refused. */
  production: boolean
  /** LANEWAY_CLOUD_API_APP_SECRET, which verifies the webhooks of accounts without a secret of their own. */
  appSecret: string | undefined
}

/** A sender to add, with its token in clear. */
export type SenderToAdd = Omit<NewSender, 'sealedToken'> & { token: string; wabaId?: string }

/** The changes of a sender; missing fields stay. An empty name removes it. */
export interface SenderChanges {
  name?: string | undefined
  rate?: number | undefined
  token?: string | undefined
  baseUrl?: string | undefined
  /** The account at WhatsApp; empty: not known. */
  wabaId?: string | undefined
  followProvider?: boolean | undefined
  /** Only with cloud-api. */
  marketingRoute?: MarketingRoute | undefined
  strictPace?: boolean | undefined
  /** Only true: another one becomes the default by being made it. */
  isDefault?: true | undefined
}

/**
 * Adds a sender with its lane and shows it. Throws a SenderTakenError for a value that must be unique, and a SealError when its token would
 * be sealed under another key than the others'.
 */
export async function makeSender(
  { redis, seal, production, appSecret }: SenderDeps,
  wanted: SenderToAdd,
): Promise<SenderDocument> {
  if (production) {
    refusePlain(wanted.baseUrl)
    const isVerified = appSecret !== undefined || (await hasWebhookSecret(redis, wanted.account))
    if (wanted.provider === 'cloud-api' && !isVerified) {
      throw invalidFields([{ path: 'provider', message: UNVERIFIED_WEBHOOKS }])
    }
  }
  // An interrupted removal may have freed the number of a sender that still exists.
  const all = await listReadableSenders(redis)
  const holder = all.find((sender) => sender.number === wanted.number)
  if (holder) throw new SenderTakenError('number', holder)
  // The workers could not open a token that is sealed under another key.
  if (all[0] !== undefined) seal.decrypt(all[0].token, tokenContextOf(all[0]))
  const { token, wabaId, ...rest } = wanted
  const id = await addSender(redis, { ...rest, sealedToken: seal.encrypt(token) })
  if (wabaId) await belongTo(redis, { id, account: wanted.account }, wabaId)
  return showSender(redis, id)
}

/** Changes a sender of the account (without one, of any), and shows it. Throws a Refusal, or a SenderTakenError. */
export async function changeSender(
  { redis, seal, production }: Pick<SenderDeps, 'redis' | 'seal' | 'production'>,
  id: number,
  { name, rate, token, baseUrl, wabaId, followProvider, marketingRoute, strictPace, isDefault }: SenderChanges,
): Promise<SenderDocument> {
  const sender = await existingSender(redis, id)
  if (production && baseUrl !== undefined) refusePlain(baseUrl)
  if (wabaId && sender.provider !== 'cloud-api') {
    throw invalidFields([{ path: 'waba_id', message: 'only known with the provider cloud-api' }])
  }
  refuseRoute(sender, marketingRoute)
  await setSenderProvider(redis, id, { followProvider, marketingRoute, strictPace, ...(wabaId === '' && { wabaId }) })
  if (wabaId) await belongTo(redis, sender, wabaId)
  if (name !== undefined && name !== sender.name) await changeSenderName(redis, sender, name)
  if (rate !== undefined) await setSenderRate(redis, id, rate)
  if (token !== undefined || baseUrl !== undefined) {
    // A token opens at its own address only.
    const sealedToken = seal.encrypt(token ?? seal.decrypt(sender.token, tokenContextOf(sender)))
    await setSenderAccess(redis, id, { baseUrl: baseUrl ?? sender.base_url, sealedToken })
  }
  if (isDefault) await setDefaultSender(redis, sender.account, id)
  return showSender(redis, id)
}

/** Sets its account at WhatsApp, and starts a sync of that account's templates. */
async function belongTo(redis: Redis, { id, account }: Pick<Sender, 'id' | 'account'>, wabaId: string): Promise<void> {
  await setSenderProvider(redis, id, { wabaId })
  await askForSync(redis, { account, wabaId }, 'person')
}

/**
 * Removes an idle sender; its messages can be looked up for `retentionMs`. Removing it again completes an interrupted removal. `isKnown`:
 * processes may still have it cached, so wait for that. Throws a Refusal `sender_busy` that names its remaining work.
 */
export async function dropSender(
  { redis, queues }: Pick<SenderDeps, 'redis' | 'queues'>,
  id: number,
  retentionMs: number,
  { isKnown = true }: { isKnown?: boolean } = {},
): Promise<Sender> {
  const sender = await retainedSender(redis, id)
  if (sender.removed_at === undefined) {
    const isBusy = () => whyBusy(redis, queues, sender)
    const busy = await removeSender(redis, sender, retentionMs, {
      isKnown,
      whyBusy: isBusy,
      // Reads again for the sentence; what came in between may be gone by then.
      close: async () =>
        (await isBusy()) ?? ((await closeLane(redis, id)) ? undefined : ((await isBusy()) ?? BUSY_JUST_NOW)),
    })
    if (busy !== undefined) {
      throw new Refusal('in_the_way', 'sender_busy', `Sender ${id} cannot be removed: ${busy}`)
    }
  }
  await queues.remove(id)
  return sender
}

const BUSY_JUST_NOW = 'a message came while it was being removed; remove it again.'

/** An existing sender. Throws a Refusal. */
async function existingSender(redis: Redis, id: number): Promise<Sender> {
  const sender = await laneOf(redis, id)
  if (sender === undefined) throw doesNotExist('The sender')
  return sender
}

/** The same, or a removed sender whose data is retained. */
async function retainedSender(redis: Redis, id: number): Promise<Sender> {
  const sender = await findSender(redis, id)
  if (sender === undefined) throw doesNotExist('The sender')
  return sender
}

/** A sender as it is now. Throws a Refusal. */
export async function showSender(redis: Redis, id: number): Promise<SenderDocument> {
  const sender = await findSender(redis, id)
  const [document] = await documentsOf(redis, sender === undefined ? [] : [sender])
  if (document === undefined) throw doesNotExist('The sender')
  return document
}

/** The senders of an account, or of all, by id. */
export const showSenders = async (redis: Redis, account?: number): Promise<SenderDocument[]> =>
  documentsOf(redis, await listSenders(redis, account))

function refusePlain(baseUrl: string): void {
  if (isPlainAddress(baseUrl)) throw invalidFields([{ path: 'base_url', message: PLAIN_PROVIDER }])
}

/** The remaining work of a sender, as a sentence; undefined if it is idle. `counts`: its campaigns by state. */
export async function whyBusy(
  redis: Redis,
  lanes: LaneQueues,
  { id, account }: Sender,
  counts: (state: CampaignState) => boolean = (state) => !hasEnded(state),
): Promise<string | undefined> {
  const states = CAMPAIGN_STATES.filter(counts)
  for await (const page of listCampaigns(redis, account, { offset: 0, limit: Number.MAX_SAFE_INTEGER, states })) {
    const campaign = page.find(({ lane }) => lane === id)
    if (campaign) return `campaign ${idOf(campaign)} is ${campaign.state}; cancel it first, or let it end.`
  }
  const { wait = 0, prioritized = 0, delayed = 0, active = 0 } = await lanes.counts(id)
  const { inDoubt, queuedAgain } = await countOnSweepLists(redis, id)
  // Messages being sent, and those queued again, have a job as well.
  const queued = Math.max(wait + prioritized + delayed, queuedAgain) + (await countPlaces(redis, id))
  const unsettled = queued + Math.max(active, inDoubt)
  if (unsettled > 0) {
    const named = `\`messages list --sender ${id}\` with --state queued, sending or unconfirmed names them`
    return `${unsettled} of its messages ${unsettled === 1 ? 'is' : 'are'} not settled yet; ${named}.`
  }
  return undefined
}

async function documentsOf(redis: Redis, senders: readonly Sender[]): Promise<SenderDocument[]> {
  const accounts = [...new Set(senders.map((sender) => sender.account))]
  const defaults = await Promise.all(accounts.map((account) => defaultSender(redis, account)))
  const defaultIds = new Set(defaults.map((sender) => sender?.id))
  return senders.map((sender) => ({
    id: sender.id,
    account: sender.account,
    number: sender.number,
    name: sender.name || null,
    provider: sender.provider,
    base_url: sender.base_url,
    phone_number_id: sender.phone_number_id || null,
    waba_id: sender.waba_id || null,
    rate: sender.rate,
    portfolio: sender.portfolio,
    follow_provider: sender.follow_provider,
    marketing_route: sender.marketing_route,
    strict_pace: sender.strict_pace,
    quality: sender.told_quality?.value || null,
    verified_name: sender.told_name?.value || null,
    restricted: sender.told_block?.value || null,
    honours_idempotency: sender.honours_idempotency,
    default: defaultIds.has(sender.id),
  }))
}
