// Removes the files of expired campaigns, and what crashes have left in the folders of the others.

import { removeOldDrafts } from '../../files/drafts.ts'
import { type FileStore, removeAll } from '../../files/store.ts'
import type { Config } from '../../kernel/config.ts'
import type { Log } from '../../kernel/log.ts'
import { DAY_MS, HOUR_MS } from '../../kernel/time-units.ts'
import { findCampaign, idOf } from '../../recipients/campaigns.ts'
import { type CampaignFiles, campaignFolder, campaignsWithFiles, removeFiles } from '../../recipients/files.ts'
import type { Redis } from '../../redis/connect.ts'

export const PURGE_EVERY_MS = HOUR_MS
/** Any upload or preflight in progress writes its file more often than this. */
const LEFTOVER_MS = DAY_MS

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
