// Hourly expiry: files in the trash, abandoned drafts, removed accounts, lanes of removed senders. If the worker dies, the next run does
// the rest.
//
// How long a removed sender's lane is needed is unknown in advance, because a late status or received message is kept from its arrival on.
// So each lane is checked when its time seems over, and kept while it has data.

import { findKeptAccount, keptAccounts } from '../accounts/accounts.ts'
import { dropRetainedLane, lanesRetainedUntil, type RemovedLane, retainLaneUntil } from '../accounts/retained-lanes.ts'
import { expireDrafts } from '../campaigns/expiry/draft-expiry.ts'
import { statesOf, trimCampaigns } from '../campaigns/store/list.ts'
import { forgetCursors } from '../events/store/endpoint-cursors.ts'
import type { FileStore } from '../files/store.ts'
import { removeContent } from '../gallery/content.ts'
import { removeLooseTokens } from '../gallery/files.ts'
import { removeFromTrash } from '../gallery/remove-files.ts'
import type { Config } from '../kernel/config.ts'
import type { Log } from '../kernel/log.ts'
import { Refusal } from '../kernel/refusal.ts'
import { repeatedly } from '../kernel/repeatedly.ts'
import { HOUR_MS } from '../kernel/time-units.ts'
import { forgetLane } from '../lanes/control.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import { parseCampaignId } from '../model/campaigns/campaign-id.ts'
import { hasEnded } from '../model/campaigns/lifecycle.ts'
import { moveCampaign, NOW } from '../recipients/campaigns.ts'
import { campaignsWithFiles } from '../recipients/files.ts'
import { trustedRedisNowMs } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignsOfAccountKey, messageIndexKey, outboxKey, rootKeys } from '../redis/keys.ts'
import { endAccount } from './remove-account.ts'

const EVERY_MS = HOUR_MS

interface ExpiryDeps extends ForgetDeps {
  config: Pick<Config, 'retentionMs' | 'trashMs' | 'draftMs' | 'events'>
}

/** Runs once an hour, until stopped; the first worker does it for all. */
export const startExpiry = (deps: ExpiryDeps): { stop: () => void } =>
  repeatedly(
    EVERY_MS,
    async () => {
      const nowMs = await trustedRedisNowMs(deps.redis)
      const isFirst = await deps.redis.set(rootKeys.expired, '1', 'PX', EVERY_MS - 1_000, 'NX')
      if (isFirst !== null) await expireAll(deps, nowMs)
    },
    deps.log,
  )

/** One run over all accounts. A failure of one affects no other. */
export async function expireAll(deps: ExpiryDeps, nowMs: number): Promise<void> {
  const { redis, files, log } = deps
  const { retentionMs, trashMs, draftMs } = deps.config
  await forgetLanes(deps, nowMs)
  const accounts = await keptAccounts(redis)
  let isWhole = true
  for (const account of accounts) {
    try {
      await trimCampaigns(redis, account)
      if ((await findKeptAccount(redis, account))?.removed_at !== undefined) {
        await goOnRemoving(deps, account)
        continue
      }
      await removeLooseTokens(redis, account, nowMs - EVERY_MS)
      if (trashMs > 0) {
        const removed = await removeFromTrash(redis, account, trashMs)
        if (removed > 0) log.info({ account, removed }, 'trash.expired')
      }
      if (draftMs > 0) await expireDrafts({ redis, retentionMs, log }, account, nowMs - draftMs)
    } catch (error) {
      isWhole = false
      log.warn({ account, err: error }, 'expiry.failed')
    }
  }
  // Content is removed only if every account could be read.
  if (isWhole) await removeContent(redis, files, accounts, nowMs)
}

/** Deletes a removed account once it has no data. While a sender of it is busy, the next run continues. */
async function goOnRemoving(deps: ExpiryDeps, account: number): Promise<void> {
  try {
    if (await endAccount(deps, account, deps.config.retentionMs)) deps.log.info({ account }, 'account.forgotten')
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    deps.log.warn({ account, err: error }, 'expiry.failed')
  }
}

/** Dependencies of ending lanes. */
export interface ForgetDeps {
  redis: Redis
  queues: LaneQueues
  files: FileStore
  config: Pick<Config, 'retentionMs' | 'events'>
  log: Log
}

/** How soon files and records without an expiry are checked again. */
const AGAIN_MS = HOUR_MS

/** Forgets the lanes of removed senders without data at this time (epoch ms). A failure of one affects no other. */
export async function forgetLanes(deps: ForgetDeps, nowMs: number): Promise<void> {
  const { redis, queues, log } = deps
  const due = await lanesRetainedUntil(redis, nowMs)
  if (due.length === 0) return
  const withFiles = new Set((await campaignsWithFiles(deps.files)).map(({ id }) => id.lane))
  for (const removed of due) {
    const { lane } = removed
    try {
      if (await redis.hexists(rootKeys.lanes, String(lane))) {
        // Its removal was interrupted, and can be repeated.
        await dropRetainedLane(redis, removed)
        continue
      }
      const until = Math.max(await keptUntil(deps, removed, nowMs), withFiles.has(lane) ? nowMs + AGAIN_MS : 0)
      if (until > nowMs) {
        await retainLaneUntil(redis, removed, until)
        continue
      }
      await forgetCursors(redis, removed.account, lane)
      await forgetLane(redis, queues, removed)
      log.info({ lane, account: removed.account }, 'lane.forgotten')
    } catch (error) {
      log.warn({ lane, err: error }, 'lane.not_forgotten')
    }
  }
}

/** Until when (epoch ms) the lane has data: messages, events, campaigns. */
async function keptUntil(
  { redis, config }: ForgetDeps,
  { lane, account }: RemovedLane,
  nowMs: number,
): Promise<number> {
  const [indexed, [last]] = await Promise.all([
    redis.pexpiretime(messageIndexKey(lane)),
    redis.xrevrange(outboxKey(lane), '+', '-', 'COUNT', 1),
  ])
  const events = last === undefined ? 0 : Number.parseInt(last[0], 10) + config.events.retentionMs
  const names = (await redis.zrange(campaignsOfAccountKey(account), '0', '-1')).filter(
    (name) => parseCampaignId(name)?.lane === lane,
  )
  const campaigns = (await statesOf(redis, names)).filter((each) => each !== undefined)
  for (const { id, state } of campaigns) {
    // It was made while its sender was removed, and nobody can start it.
    if (hasEnded(state)) continue
    await moveCampaign(redis, id, 'cancel', config.retentionMs, { begins: true, fields: { ended_at: NOW, reason: '' } })
  }
  return Math.max(indexed, events, campaigns.length > 0 ? nowMs + AGAIN_MS : 0)
}
