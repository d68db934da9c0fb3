// Adopting a campaign that was begun by a version of Laneway that did not keep the states of its recipients: they are
// taken from the records, once, before anybody is fed. Dying in the middle, it is begun again and changes nothing twice.

import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignKey } from '../../redis/keys.ts'
import { WIDEST_WINDOW } from '../pace.ts'
import type { Campaign } from '../store/campaigns.ts'
import { buildMessage, type MessageSpec } from '../store/recipient-message.ts'
import { adoptMarks, endAdopting } from '../store/recipient-states.ts'
import type { Snapshot } from '../store/snapshot.ts'

/** How far beyond the cursor somebody may have been fed: a resume went back so far. */
const REWOUND = 2 * WIDEST_WINDOW
const AT_ONCE = 500

/** Does nothing for a campaign that keeps marks already. */
export async function adopt(
  deps: { redis: Redis; config: { retentionMs: number } },
  campaign: Campaign,
  spec: MessageSpec,
  snapshot: Snapshot,
): Promise<void> {
  if (campaign.keeps_marks) return
  const { redis, config } = deps
  const isOld =
    (await redisNowMs(redis, campaignKey(campaign.lane, campaign.number))) - spec.startedAtMs >= config.retentionMs
  const until = Math.min(campaign.total, campaign.next + REWOUND)
  for (let place = 0; place < until; ) {
    const recipients = await snapshot.read(place, Math.min(AT_ONCE, until - place))
    if (recipients.length === 0) break
    const from = place
    const ulids = recipients.map((recipient, i) => buildMessage(spec, recipient, from + i).ulid)
    await adoptMarks(redis, campaign, from, ulids, isOld)
    place += recipients.length
  }
  await endAdopting(redis, campaign, campaign.total)
}
