// Cancels campaigns that were not started within LANEWAY_DRAFT_DAYS of their last change; otherwise they and their rows
// would be kept for ever. They are shown as cancelled for as long as any other.

import type { Log } from '../../kernel/log.ts'
import { parseCampaignId } from '../../model/campaigns/campaign-id.ts'
import { CAMPAIGN_MOVES } from '../../model/campaigns/lifecycle.ts'
import { changedAtMs, findCampaign, moveCampaign, NOW } from '../../recipients/campaigns.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignsOfAccountKey } from '../../redis/keys.ts'
import { skipCorrupt } from '../../redis/records.ts'
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
    for (const [i, name] of names.entries()) {
      const state = states[i]?.state
      if (state === undefined || !allowed.includes(state)) continue
      const id = parseCampaignId(name)
      const campaign = id && (await findCampaign(redis, id).catch(skipCorrupt))
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
