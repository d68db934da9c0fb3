// The state of WhatsApp's own rules, for metrics: portfolios with their budget and their held messages, lanes of senders without
// a portfolio that have held ones, and what keeps the campaigns of a lane.

import type { LaneStats } from '../../lanes/stats.ts'
import type { CAMPAIGNS_WAIT_REASONS } from '../../model/portfolio.ts'
import { whyCampaignsWait } from '../../portfolios/campaign-waits.ts'
import { heldNow, lanesHolding } from '../../portfolios/held-places.ts'
import { findPortfolio } from '../../portfolios/portfolios.ts'
import { usage } from '../../portfolios/usage.ts'
import type { Redis } from '../../redis/connect.ts'
import { rootKeys } from '../../redis/keys.ts'

/** Portfolios, and lanes without one, that are exported: each has series of its own. */
const MOST = 1_000

/** Messages that WhatsApp holds of one portfolio, or of a lane whose sender belongs to none. */
export interface Held {
  count: number
  /** How long the first of them has been held; 0 without one. */
  seconds: number
}

/** A portfolio at one moment. `people`: counted in the last 24 hours; `dailyLimit` null: nobody is counted. */
export interface PortfolioGauges {
  id: number
  account: number
  people: number
  dailyLimit: number | null
  held: Held
}

/** Of the whole installation. */
export interface RuleGauges {
  portfolios: PortfolioGauges[]
  holdingLanes: { lane: number; held: Held }[]
}

/** Reads it; the first 1,000 portfolios by their ids, and as many lanes. */
export async function readRuleGauges(redis: Redis): Promise<RuleGauges> {
  const [owners, lanes] = await Promise.all([redis.hgetall(rootKeys.portfolios), lanesHolding(redis, MOST)])
  const ids = Object.keys(owners)
    .map(Number)
    .sort((a, b) => a - b)
    .slice(0, MOST)
  const [portfolios, holding] = await Promise.all([
    Promise.all(ids.map((id) => readPortfolio(redis, id))),
    Promise.all(lanes.map(async (lane) => ({ lane, held: await heldOf(redis, { lane }) }))),
  ])
  return {
    portfolios: portfolios.filter((portfolio) => portfolio !== undefined),
    holdingLanes: holding.filter(({ held }) => held.count > 0),
  }
}

/** One that was removed meanwhile, or cannot be read, is left out. */
async function readPortfolio(redis: Redis, id: number): Promise<PortfolioGauges | undefined> {
  const portfolio = await findPortfolio(redis, id).catch(() => undefined)
  if (portfolio === undefined) return undefined
  const { account, daily_limit: dailyLimit, reserve_percent: reservePercent } = portfolio
  const [used, held] = await Promise.all([
    dailyLimit === null ? undefined : usage(redis, { id, dailyLimit, reservePercent }),
    heldOf(redis, { portfolio: id }),
  ])
  return { id, account, people: used?.used ?? 0, dailyLimit, held }
}

async function heldOf(redis: Redis, owner: { lane?: number; portfolio?: number }): Promise<Held> {
  const nowMs = Date.now()
  const { count, sinceMs } = await heldNow(redis, owner, { nowMs })
  return { count, seconds: sinceMs === undefined ? 0 : Math.max(0, nowMs - sinceMs) / 1_000 }
}

/** What keeps running campaigns of a lane from sending by a rule of WhatsApp. */
export type RestReason = (typeof CAMPAIGNS_WAIT_REASONS)[number]

/** How many campaigns of the lane rest for which reason. */
export async function restingCampaigns(
  redis: Redis,
  { lane, campaigns }: Pick<LaneStats, 'lane' | 'campaigns'>,
  portfolio: number | undefined,
): Promise<Partial<Record<RestReason, number>>> {
  const running = campaigns.filter(({ state }) => state === 'running').length
  if (running === 0) return {}
  const waits = await whyCampaignsWait(redis, {
    lane,
    ...(portfolio !== undefined && { portfolio: { id: portfolio } }),
  })
  return waits === undefined ? {} : { [waits.why]: running }
}
