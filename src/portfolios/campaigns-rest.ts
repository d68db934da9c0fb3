// The rest of a lane's campaigns: WhatsApp has held its number back for spam, and may still take transactional messages. No message of
// class campaign is claimed until it is over; one transactional message a minute probes the number (lanes/cooldown.ts). Checked before
// each claim, together with the other rules (worker/sending/provider-rules.ts).
import { masked } from '../kernel/masked.ts'
import type { Problem } from '../model/messages/outcome.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignsRestKey } from '../redis/keys.ts'

/** The rest of a lane's campaigns, and its reason. */
export interface CampaignsRest {
  leftMs: number
  /** Epoch ms on the clock of Redis. */
  untilMs: number
  code: string
  sentence: string
}

/** Starts a rest of `ms` from now on. On a full Redis this works only while they rest already; the next refusal repeats it. */
export async function restCampaigns(
  redis: Redis,
  lane: number,
  ms: number,
  { code, sentence }: Problem,
): Promise<void> {
  await redis.set(campaignsRestKey(lane), `${code}|${masked(sentence)}`, 'PX', Math.max(1, Math.ceil(ms)))
}

/** The current rest; undefined while campaigns may send. */
export async function campaignsRest(redis: Redis, lane: number): Promise<CampaignsRest | undefined> {
  const text = await redis.get(campaignsRestKey(lane))
  if (text === null) return undefined
  const at = text.indexOf('|')
  const key = campaignsRestKey(lane)
  const [leftMs, untilMs] = await Promise.all([redis.pttl(key), redis.pexpiretime(key)])
  // It has just ended.
  if (untilMs < 0) return undefined
  return { leftMs: Math.max(1, leftMs), untilMs, code: text.slice(0, at), sentence: text.slice(at + 1) }
}

/** Ends the rest. */
export async function endCampaignsRest(redis: Redis, lane: number): Promise<void> {
  await redis.del(campaignsRestKey(lane))
}
