// Takes a file of rows for a campaign. It counts once the campaign's record names it; a crash before that leaves a file
// that the next upload or preflight removes.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '../accept/refusal.ts'
import { campaignFolder, type RowFormat, receiveRows, removeAllBut } from '../store/campaign-files.ts'
import { type Campaign, moveCampaign } from '../store/campaigns.ts'
import type { Redis } from '../store/redis.ts'

/** Throws a Refusal when the campaign takes no rows (any more), and a TooLargeError. */
export async function takeRows(
  deps: { redis: Redis; dataDir: string; retentionMs: number },
  campaign: Campaign,
  format: RowFormat,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<void> {
  if (!('rows' in campaign.definition.recipients)) {
    throw new Refusal('invalid', 'no_rows_expected', 'The recipients of this campaign are contacts, not uploaded rows.')
  }
  const folder = campaignFolder(deps.dataDir, campaign)
  const file = await receiveRows(folder, format, source, maxBytes)
  const fields = { rows_file: file, snapshot: '', total: 0, next: 0 }
  const moved = await moveCampaign(deps.redis, campaign, 'upload', deps.retentionMs, { begins: true, fields })
  if (moved.kind === 'moved') return removeAllBut(folder, [file])
  await rm(join(folder, file), { force: true })
  const state = moved.kind === 'missing' ? 'gone' : moved.state
  throw new Refusal('conflict', 'wrong_state', `Rows can be uploaded before a campaign starts; this one is ${state}.`)
}
