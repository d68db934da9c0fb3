// Cancels campaigns that were not started within LANEWAY_DRAFT_DAYS of their last change; otherwise they and their rows
// would be kept for ever. They are shown as cancelled for as long as any other.

import { removeOldDrafts } from '../../files/drafts.ts'
import { type FileStore, removeAll } from '../../files/store.ts'
import type { Config } from '../../kernel/config.ts'
import type { Log } from '../../kernel/log.ts'
import { CAMPAIGN_MOVES, parseCampaignId } from '../../model/campaigns/campaign.ts'
import { changedAtMs, findCampaign, idOf, moveCampaign, NOW } from '../../recipients/campaigns.ts'
import { type CampaignFiles, campaignFolder, campaignsWithFiles, removeFiles } from '../../recipients/files.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignsOfAccountKey } from '../../redis/keys.ts'
import { statesOf } from '../store/list.ts'

const AT_ONCE = 200

/** Cancels those of the account whose last change was before `beforeMs`; returns how many. */
export async function expireDrafts(
  { redis, retentionMs, log }: { redis: Redis; retentionMs: number; log: Log },
  account: number,
  beforeMs: number,
): Promise<number> {
  let expired = 0
  const allowed = CAMPAIGN_MOVES.expire.from
  for (let at = 0; ; at += AT_ONCE) {
    const key = campaignsOfAccountKey(account)
    const names = await redis.zrangebyscore(key, '-inf', beforeMs, 'LIMIT', at, AT_ONCE)
    const states = await statesOf(redis, names)
    for (const [place, name] of names.entries()) {
      const state = states[place]?.state
      if (state === undefined || !allowed.includes(state)) continue
      const id = parseCampaignId(name)
      const campaign = id && (await findCampaign(redis, id).catch(() => undefined))
      if (campaign === undefined || changedAtMs(campaign) >= beforeMs) continue
      // In the epoch that was read: an upload meanwhile begins another.
      const options = { epoch: campaign.epoch, begins: true, fields: { ended_at: NOW, reason: '' } }
      const moved = await moveCampaign(redis, campaign, 'expire', retentionMs, options)
      if (moved.kind !== 'moved') continue
      expired += 1
      log.info({ campaign: name, account }, 'campaign.expired')
    }
    if (names.length < AT_ONCE) return expired
  }
}

// Removes the files of expired campaigns, and what crashes have left in the folders of the others.

export const PURGE_EVERY_MS = 3_600_000
/** Any upload or preflight in progress writes its file more often than this. */
const LEFTOVER_MS = 24 * 3_600_000

/**
 * Only files that are older than any unused record: a worker that was pointed at the wrong Redis must not delete the files of campaigns
 * that are active in the right one.
 */
export async function purgeCampaignFiles(
  { redis, files, config, log }: { redis: Redis; files: FileStore; config: Pick<Config, 'retentionMs'>; log: Log },
  nowMs: number,
): Promise<void> {
  await removeOldDrafts(files, nowMs)
  for (const each of await campaignsWithFiles(files)) {
    const { id } = each
    await forgetOne(each).catch((error: unknown) => {
      log.warn({ campaign: idOf(id), err: error }, 'campaign.purge_failed')
    })
  }

  async function forgetOne({ id, written }: CampaignFiles): Promise<void> {
    const campaign = await findCampaign(redis, id)
    if (campaign) {
      const kept = [campaign.rows_file, campaign.snapshot]
      const old = [...written].filter(([name, writtenMs]) => !kept.includes(name) && writtenMs < nowMs - LEFTOVER_MS)
      await removeFiles(
        files,
        id,
        old.map(([name]) => name),
      )
    } else if (Math.max(...written.values()) < nowMs - config.retentionMs) {
      await removeAll(files, campaignFolder(id))
      log.info({ campaign: idOf(id) }, 'campaign.purged')
    }
  }
}
