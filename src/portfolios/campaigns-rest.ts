// Campaigns of a lane rest: WhatsApp has held its number back for spam, and takes transactional messages perhaps. Nothing of
// class campaign is claimed until it is over; whether the number sends at all, one transactional message a minute asks
// (lanes/cooldown.ts). Asked before each claim, together with the other rules (worker/sending/provider-rules.ts).
import { masked } from '../kernel/masked.ts'
import type { Problem } from '../model/messages/outcome.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignsRestKey } from '../redis/keys.ts'

/** That campaigns of a lane rest, and why. */
export interface CampaignsRest {
  leftMs: number
  /** Epoch ms on the clock of Redis. */
  untilMs: number
  code: string
  sentence: string
}

/** They rest for `ms` from now on. Works on a full Redis only while they rest already; the next refusal brings it again. */
export async function restCampaigns(
  redis: Redis,
  lane: number,
  ms: number,
  { code, sentence }: Problem,
): Promise<void> {
  await redis.set(campaignsRestKey(lane), `${code}|${masked(sentence)}`, 'PX', Math.max(1, Math.ceil(ms)))
}

/** How campaigns of the lane rest; undefined while they may send. */
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

/** They may send again. */
export async function endCampaignsRest(redis: Redis, lane: number): Promise<void> {
  await redis.del(campaignsRestKey(lane))
}
