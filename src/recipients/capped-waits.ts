// Whether a running campaign sends nothing because everybody whom it has yet to reach has had enough marketing.
import { iso } from '../kernel/instant.ts'
import { messageId } from '../kernel/message-id.ts'
import { payloadText, readJob } from '../lanes/jobs.ts'
import { allPutOff } from '../lanes/put-off.ts'
import { namesOf } from '../people/names/names.ts'
import type { RuleWaits } from '../portfolios/campaign-waits.ts'
import { cappedUntil } from '../portfolios/caps.ts'
import { hasActiveRules } from '../portfolios/rules.ts'
import type { RulesOwnerId } from '../portfolios/rules-owner.ts'
import type { Redis } from '../redis/connect.ts'
import type { Campaign } from './campaigns.ts'
import { isMarketingNow } from './message-marketing.ts'

/** Until when the first of them is capped; `lastMs`: when the last of them is due (epoch ms). */
export interface CappedWaits {
  waits: RuleWaits
  lastMs: number
}

/**
 * Undefined while the campaign sends, or waits for something else. `queued` of its recipients are, and `sending`. In a campaign that is
 * not at its end this takes no request to Redis, and one while nobody is capped.
 */
export async function cappedWaits(
  redis: Redis,
  campaign: Pick<Campaign, 'account' | 'lane' | 'number' | 'started_at' | 'next' | 'total'>,
  { queued, sending }: { queued: number; sending: number },
  owner: RulesOwnerId,
  nowMs: number,
): Promise<CappedWaits | undefined> {
  const { account, lane, number, started_at: startedAtMs, next, total } = campaign
  if (queued === 0 || sending > 0 || next < total || startedAtMs === undefined) return undefined
  if (!(await hasActiveRules(redis, owner))) return undefined
  const putOff = await allPutOff(redis, { lane, number }, { startedAtMs, total, queued })
  if (putOff === undefined || putOff.first.dueMs <= nowMs) return undefined
  const { text } = await readJob(redis, lane, messageId(lane, putOff.first.ulid))
  const { data: payload } = payloadText.safeParse(text)
  if (payload?.run !== number) return undefined
  const [until] = await cappedUntil(redis, owner, [await namesOf(redis, account, payload.to)])
  if (until === undefined) return undefined
  if (!(await isMarketingNow(redis, { account, lane }, { class: 'campaign', run: number }))) return undefined
  const sentence = `All whom it has yet to reach have had enough marketing; WhatsApp takes the next to one of them at ${iso(until)}.`
  return { waits: { why: 'person_capped', until, sentence }, lastMs: putOff.lastDueMs }
}
