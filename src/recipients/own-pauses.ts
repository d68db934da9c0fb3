// Records in the activity that Laneway itself has paused a campaign.
import { logOwnAct } from '../accounts/own-acts.ts'
import { type CampaignId, campaignId } from '../model/campaigns/campaign-id.ts'
import type { Redis } from '../redis/connect.ts'

/** Writes into the activity that Laneway has paused the campaign. */
export const logOwnPause = (redis: Redis, campaign: CampaignId, reason: string): Promise<void> =>
  logOwnAct(redis, campaign.lane, { action: 'campaign.pause', target: campaignId(campaign), detail: reason })
