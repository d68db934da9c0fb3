// Removes the files of campaigns whose record has expired, and what crashes have left in the folders of the others.
import type { Config } from '../../config.ts'
import { removeOldDrafts } from '../../files/drafts.ts'
import { type FileStore, removeAll } from '../../files/store.ts'
import type { Log } from '../../log.ts'
import type { Redis } from '../../redis/connect.ts'
import { findCampaign, idOf } from '../store/campaigns.ts'
import { type CampaignFiles, campaignFolder, campaignsWithFiles, removeFiles } from '../store/files.ts'

export const PURGE_EVERY_MS = 3_600_000
/** No upload and no preflight that is still at work leaves its file alone for so long. */
const LEFTOVER_MS = 24 * 3_600_000

/**
 * Only files that are older than any record lives without use: a worker that was pointed at the wrong Redis must not
 * take the files of campaigns that are still going on in the right one.
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
