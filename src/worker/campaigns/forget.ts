// Removes the files of campaigns whose record has expired.
import { rm } from 'node:fs/promises'
import type { Config } from '../../config.ts'
import type { Log } from '../../log.ts'
import { campaignFolder, oldFolders } from '../../store/campaign-files.ts'
import { findCampaign, idOf } from '../../store/campaigns.ts'
import type { Redis } from '../../store/redis.ts'

export const FORGET_EVERY_MS = 3_600_000

/**
 * Only folders that are older than any record lives without use: a worker that was pointed at the wrong Redis must not
 * take the files of campaigns that are still going on in the right one.
 */
export async function forgetCampaigns(
  { redis, config, log }: { redis: Redis; config: Pick<Config, 'dataDir' | 'retentionMs'>; log: Log },
  nowMs: number,
): Promise<void> {
  for (const id of await oldFolders(config.dataDir, nowMs - config.retentionMs)) {
    if (await findCampaign(redis, id)) continue
    await rm(campaignFolder(config.dataDir, id), { recursive: true, force: true })
    log.info({ campaign: idOf(id) }, 'campaign.forgotten')
  }
}
