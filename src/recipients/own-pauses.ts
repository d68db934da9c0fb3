// Records in the activity that Laneway itself has paused a campaign.

import { appendToAuditLog } from '../accounts/audit-log.ts'
import { findSender } from '../accounts/senders.ts'
import { LANEWAY_ITSELF } from '../model/accounts/audit-log.ts'
import { type CampaignId, campaignId } from '../model/campaigns/campaign-id.ts'
import type { Redis } from '../redis/connect.ts'

/** Writes into the activity that Laneway has paused the campaign. Dying before it leaves the pause out of the log. */
export async function noteOwnPause(redis: Redis, campaign: CampaignId, reason: string): Promise<void> {
  const sender = await findSender(redis, campaign.lane)
  if (sender === undefined) return
  const what = { account: sender.account, action: 'campaign.pause', target: campaignId(campaign), detail: reason }
  await appendToAuditLog(redis, { actor: LANEWAY_ITSELF, ...what }, Date.now())
}
