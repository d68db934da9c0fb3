// Why campaigns of a sender send nothing although they run and the lane sends, for people.

import type { CAMPAIGNS_WAIT_REASONS } from '../model/portfolio.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignsRest } from './campaigns-rest.ts'
import { restingOf, usage } from './rules.ts'
import type { RulesOwner } from './rules-owner.ts'

/** The rule that campaigns wait for; `until` in epoch ms. */
export interface RuleWaits {
  why: (typeof CAMPAIGNS_WAIT_REASONS)[number]
  until: number
  sentence: string
}

/** The rule that campaigns of the sender wait for; undefined while they may send. */
export async function restingWaits(
  redis: Redis,
  owner: { lane: number; portfolio?: { id: number } },
): Promise<RuleWaits | undefined> {
  const [rest, resting] = await Promise.all([campaignsRest(redis, owner.lane), restingOf(redis, owner)])
  if (rest !== undefined) {
    const { untilMs: until, sentence: why } = rest
    const sentence = `Campaigns of its sender wait until ${new Date(until).toISOString()}: ${why}`
    return { why: 'lane_cooldown', until, sentence }
  }
  if (resting === undefined) return undefined
  const { why, untilMs: until } = resting
  if (why === 'portfolio_limit') return limitWaits(until)
  const sentence = 'WhatsApp holds messages to see how people like the template; the rest waits for what it decides.'
  return { why, until, sentence }
}

/** The limit that transactional templates of the sender wait for, once the reserve of its portfolio is spent as well. */
export async function spentWaits(redis: Redis, { portfolio }: RulesOwner): Promise<RuleWaits | undefined> {
  if (portfolio === undefined || portfolio.dailyLimit === null) return undefined
  const { freeAtMs } = await usage(redis, { ...portfolio, reservePercent: 0 })
  return freeAtMs === undefined ? undefined : limitWaits(freeAtMs)
}

const limitWaits = (until: number): RuleWaits => ({
  why: 'portfolio_limit',
  until,
  sentence: `The portfolio has written to as many people as it may in 24 hours; the next place is free at ${new Date(until).toISOString()}.`,
})
