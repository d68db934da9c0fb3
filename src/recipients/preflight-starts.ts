// Counts the starts of a campaign's latest preflight: one that ends its process again and again must not begin for ever.
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignKey } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'

const startsScript = defineScript(import.meta.url, 'preflight-starts')

/** Records how many preflights of the campaign have begun without an end. A move that begins a check sets it to 0. */
export async function notePreflightStarts(
  redis: Redis,
  { lane, number, epoch }: CampaignId & { epoch: number },
  starts: number,
): Promise<void> {
  await startsScript(redis, { campaign: campaignKey(lane, number) }, { epoch, starts })
}
