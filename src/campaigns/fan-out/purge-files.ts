// Removes the files of campaigns whose record has expired, and what crashes have left in the folders of the others.
import { rm } from 'node:fs/promises'
import type { Config } from '../../config.ts'
import type { Log } from '../../log.ts'
import type { Redis } from '../../redis/connect.ts'
import type { CampaignId } from '../campaign-id.ts'
import { findCampaign, idOf } from '../store/campaigns.ts'
import { campaignFolder, campaignFolders, removeLeftovers } from '../store/files.ts'

export const PURGE_EVERY_MS = 3_600_000
/** No upload and no preflight that is still at work leaves its file alone for so long. */
const LEFTOVER_MS = 24 * 3_600_000

/**
 * Only folders that are older than any record lives without use: a worker that was pointed at the wrong Redis must not
 * take the files of campaigns that are still going on in the right one.
 */
export async function purgeCampaignFiles(
  { redis, config, log }: { redis: Redis; config: Pick<Config, 'dataDir' | 'retentionMs'>; log: Log },
  nowMs: number,
): Promise<void> {
  for (const { id, changedMs } of await campaignFolders(config.dataDir)) {
    await forgetOne(id, changedMs).catch((error: unknown) => {
      log.warn({ campaign: idOf(id), err: error }, 'campaign.purge_failed')
    })
  }

  async function forgetOne(id: CampaignId, changedMs: number): Promise<void> {
    const folder = campaignFolder(config.dataDir, id)
    const campaign = await findCampaign(redis, id)
    if (campaign) {
      await removeLeftovers(folder, [campaign.rows_file, campaign.snapshot], nowMs - LEFTOVER_MS)
    } else if (changedMs < nowMs - config.retentionMs) {
      await rm(folder, { recursive: true, force: true })
      log.info({ campaign: idOf(id) }, 'campaign.purged')
    }
  }
}
