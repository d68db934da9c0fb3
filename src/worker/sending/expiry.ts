// What ends because nobody wants it any more: files in the trash, campaigns that nobody starts, lanes of removed senders.
// One worker looks once an hour. If it dies, the rest is left to the next look.

import { endAccount } from '../../accounts/commands/remove-account.ts'
import { findKeptAccount, keptAccounts } from '../../accounts/store/accounts.ts'
import { expireDrafts } from '../../campaigns/fan-out/housekeeping.ts'
import { trimCampaigns } from '../../campaigns/store/list.ts'
import type { Config } from '../../config.ts'
import { removeContent } from '../../gallery/store/content.ts'
import { removeLooseTokens } from '../../gallery/store/files.ts'
import { removeFromTrash } from '../../gallery/store/remove-files.ts'
import { Refusal } from '../../messages/accept/refusal.ts'
import { redisNowMs } from '../../redis/clock.ts'
import { rootKeys } from '../../redis/keys.ts'
import { repeatedly } from '../../repeatedly.ts'
import { type ForgetDeps, forgetLanes } from '../background/forget-lanes.ts'

const EVERY_MS = 3_600_000

interface ExpiryDeps extends ForgetDeps {
  config: Pick<Config, 'retentionMs' | 'trashMs' | 'draftMs' | 'events'>
}

/** Looks once an hour, until stopped; whichever worker comes first does it for all. */
export const startExpiry = (deps: ExpiryDeps): { stop: () => void } =>
  repeatedly(
    EVERY_MS,
    async () => {
      const isFirst = await deps.redis.set(rootKeys.expired, '1', 'PX', EVERY_MS - 1_000, 'NX')
      if (isFirst !== null) await expireAll(deps, await redisNowMs(deps.redis))
    },
    deps.log,
  )

/** One look at all accounts. A fault of one harms no other. */
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
  // Content is removed only where every account could be looked through.
  if (isWhole) await removeContent(redis, files, accounts, nowMs)
}

/** Ends a removed account once nothing is kept of it. While a sender of it is busy the next look goes on. */
async function goOnRemoving(deps: ExpiryDeps, account: number): Promise<void> {
  try {
    if (await endAccount(deps, account, deps.config.retentionMs)) deps.log.info({ account }, 'account.forgotten')
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    deps.log.warn({ account, err: error }, 'expiry.failed')
  }
}
