// Removes an account: its keys end at once, its senders and everything else are deleted, except its messages and opt-outs. Those can be
// shown and erased until the last message expires; then `endAccount` deletes the rest.
//
// The process may die anywhere. The account is marked as removed first; removing it again, or the hourly expiry, repeats each part.

import { clearAccount, dropAccount, findKeptAccount, markAccountRemoved } from '../accounts/accounts.ts'
import { forgetCredentials } from '../accounts/credentials.ts'
import { retainedLanes } from '../accounts/retained-lanes.ts'
import { listSenders } from '../accounts/senders.ts'
import { dropSync, plannedSyncs } from '../accounts/template-syncs.ts'
import { forgetWebhookArrivals } from '../accounts/webhook-arrivals.ts'
import { listCampaigns } from '../campaigns/store/list.ts'
import { removeQueue } from '../events/store/endpoint-queue.ts'
import { listEndpoints, removeEndpoint } from '../events/store/endpoints.ts'
import { forgetEvents } from '../events/store/outbox.ts'
import { forgetGallery } from '../gallery/remove-files.ts'
import { doesNotExist, Refusal } from '../kernel/refusal.ts'
import { CAMPAIGN_MOVES, CAMPAIGN_STATES, hasEnded } from '../model/campaigns/lifecycle.ts'
import { forgetContacts } from '../people/contacts/tags.ts'
import { forgetAllNames } from '../people/names/names.ts'
import { ERASED_KEY_FIELD } from '../people/opt-outs/erased.ts'
import { forgetPortfolios } from '../portfolios/portfolios.ts'
import { moveCampaign, NOW } from '../recipients/campaigns.ts'
import type { Redis } from '../redis/connect.ts'
import {
  campaignsOfAccountKey,
  contactKeys,
  draftsOfAccountKey,
  openRequeuesKey,
  rowsOfAccountKey,
  sendersOfAccountKey,
  templateStatesKey,
  templatesKey,
} from '../redis/keys.ts'
import { forgetNotices } from '../reports/notices.ts'
import { dropSender, type SenderDeps, whyBusy } from './senders.ts'

type RemovalDeps = Pick<SenderDeps, 'redis' | 'queues'>

/** Campaigns that were never started; they are cancelled with the account. */
const DRAFTS = CAMPAIGN_MOVES.expire.from
/** Processes cache its keys and senders for up to a second, see redis/cached.ts. */
const KNOWN_MS = 1_500

/**
 * Removes an account whose senders are idle; its messages can be looked up for `retentionMs`. Removing it again completes an interrupted
 * removal. Throws a Refusal: `not_found`, or `sender_busy`, with nothing changed unless a message came in at the last moment: then its
 * keys have ended, and it must be removed again once the message is settled.
 */
export async function removeAccount(deps: RemovalDeps, id: number, retentionMs: number): Promise<void> {
  const { redis, queues } = deps
  const account = await findKeptAccount(redis, id)
  if (account === undefined) throw doesNotExist('The account')
  if (account.removed_at === undefined) {
    for (const sender of await listSenders(redis, id)) {
      const busy = await whyBusy(redis, queues, sender, (state) => !hasEnded(state) && !DRAFTS.includes(state))
      if (busy === undefined) continue
      throw new Refusal('in_the_way', 'sender_busy', `Account ${id} cannot be removed: sender ${sender.id}: ${busy}`)
    }
    await markAccountRemoved(redis, id, Date.now())
  }
  await forgetCredentials(redis, id)
  const senders = await listSenders(redis, id)
  if (senders.length > 0) await new Promise((resolve) => setTimeout(resolve, KNOWN_MS))
  await cancelDrafts(redis, id, retentionMs)
  for (const sender of senders) await dropSender(deps, sender.id, retentionMs, { isKnown: false })
  await forgetBelongings(redis, id)
}

async function cancelDrafts(redis: Redis, account: number, retentionMs: number): Promise<void> {
  const states = CAMPAIGN_STATES.filter((state) => DRAFTS.includes(state))
  const page = { offset: 0, limit: Number.MAX_SAFE_INTEGER, states }
  for await (const campaigns of listCampaigns(redis, account, page)) {
    for (const { lane, number } of campaigns) {
      const fields = { ended_at: NOW, reason: '' }
      await moveCampaign(redis, { lane, number }, 'expire', retentionMs, { begins: true, fields })
    }
  }
}

/** Deletes what belongs to the account and is not needed for its messages and opt-outs. */
async function forgetBelongings(redis: Redis, id: number): Promise<void> {
  for (const endpoint of await listEndpoints(redis, id)) {
    await removeEndpoint(redis, endpoint)
    await removeQueue(redis, endpoint)
  }
  await forgetEvents(redis, id)
  await forgetContacts(redis, id)
  await forgetGallery(redis, id)
  await forgetPortfolios(redis, id)
  await forgetNotices(redis, id)
  for (const synced of await plannedSyncs(redis, id)) await dropSync(redis, synced)
  for (const key of [templatesKey(id), templateStatesKey(id), draftsOfAccountKey(id), rowsOfAccountKey(id)])
    await redis.del(key)
  await forgetWebhookArrivals(redis, id)
  await clearAccount(redis, id, [ERASED_KEY_FIELD])
}

/**
 * Resumes an interrupted removal, and deletes the rest once nothing of any of its lanes is retained. False while something
 * is. Throws a Refusal while a sender is busy.
 */
export async function endAccount(deps: RemovalDeps, id: number, retentionMs: number): Promise<boolean> {
  const { redis } = deps
  await removeAccount(deps, id, retentionMs)
  if ((await retainedLanes(redis, id)).length > 0) return false
  const { optOuts, optOutSources, optOutEnds, erasedOptOuts, tombstones } = contactKeys(id)
  await redis.del(optOuts, optOutSources, optOutEnds, erasedOptOuts, tombstones)
  await forgetAllNames(redis, id)
  for (const key of [campaignsOfAccountKey(id), sendersOfAccountKey(id), openRequeuesKey(id)]) await redis.del(key)
  await dropAccount(redis, id)
  return true
}
