// Why campaigns of a sender send nothing although they run and the lane sends: what workers record of it, and how people read it.

import type { CAMPAIGNS_WAIT_REASONS } from '../model/portfolio.ts'
import type { Redis } from '../redis/connect.ts'
import { rulesKeys } from '../redis/keys.ts'
import { campaignsRest } from './campaigns-rest.ts'
import { type RulesOwner, type RulesOwnerId, rulesKeysOf } from './rules-owner.ts'
import { usage } from './usage.ts'

/** The rule that campaigns wait for; `until` in epoch ms. */
export interface RuleWaits {
  why: (typeof CAMPAIGNS_WAIT_REASONS)[number]
  until: number
  sentence: string
}

/** The rule that campaigns of the sender wait for; undefined while they may send. */
export async function whyCampaignsWait(redis: Redis, owner: RulesOwnerId): Promise<RuleWaits | undefined> {
  const [rest, wait] = await Promise.all([campaignsRest(redis, owner.lane), readCampaignsWait(redis, owner)])
  if (rest !== undefined) {
    const { untilMs: until, sentence: why } = rest
    const sentence = `Campaigns of its sender wait until ${new Date(until).toISOString()}: ${why}`
    return { why: 'lane_cooldown', until, sentence }
  }
  if (wait === undefined) return undefined
  const { why, untilMs: until } = wait
  if (why === 'portfolio_limit') return limitWaits(until)
  const sentence = 'WhatsApp holds messages to see how people like the template; the rest waits for what it decides.'
  return { why, until, sentence }
}

/** The limit that transactional templates of the sender wait for, once the reserve of its portfolio is spent as well. */
export async function whyTransactionalWaits(redis: Redis, { portfolio }: RulesOwner): Promise<RuleWaits | undefined> {
  if (portfolio === undefined || portfolio.dailyLimit === null) return undefined
  const { freeAtMs } = await usage(redis, { ...portfolio, reservePercent: 0 })
  return freeAtMs === undefined ? undefined : limitWaits(freeAtMs)
}

const limitWaits = (until: number): RuleWaits => ({
  why: 'portfolio_limit',
  until,
  sentence:
    'The portfolio has written to as many people as it may in 24 hours; ' +
    `the next place is free at ${new Date(until).toISOString()}.`,
})

/** Why campaigns send nothing for now, and until when (epoch ms). */
export interface CampaignsWait {
  why: 'portfolio_limit' | 'held'
  untilMs: number
}

/** Records that campaigns wait for a rule, until they check again after `forMs`. */
export async function recordCampaignsWait(
  redis: Redis,
  owner: RulesOwner,
  { verdict, untilMs }: { verdict: string; untilMs: number },
  forMs: number,
): Promise<void> {
  // A little longer, so that the display does not flicker.
  await redis.set(rulesKeysOf(owner).resting, `${verdict} ${untilMs}`, 'PX', Math.ceil(forMs) + WAIT_KEPT_MS)
}
const WAIT_KEPT_MS = 3_000

/** Why campaigns send nothing, as last recorded by workers; undefined while they may. */
export async function readCampaignsWait(
  redis: Redis,
  { lane, portfolio }: RulesOwnerId,
): Promise<CampaignsWait | undefined> {
  const [why, untilMs] = (await redis.get(rulesKeys(lane, portfolio?.id).resting))?.split(' ') ?? []
  return why === 'portfolio_limit' || why === 'held' ? { why, untilMs: Number(untilMs) } : undefined
}
