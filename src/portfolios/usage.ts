// How much of a portfolio's daily limit is used, for people and for campaigns that are planned.
import { z } from 'zod'
import { campaignLimit } from '../model/portfolio.ts'
import type { Redis } from '../redis/connect.ts'
import { rulesKeys } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { heldNow } from './held-places.ts'
import type { Portfolio } from './portfolios.ts'
import { PEOPLE } from './rules.ts'
import type { At, RulesOwner } from './rules-owner.ts'

const usageScript = defineScript(import.meta.url, 'rules-usage', { names: { PEOPLE } })
const usageReply = z.tuple([z.number(), z.number()])

/**
 * How many people are counted now, and when campaigns can write to somebody new again (epoch ms); undefined while they
 * can. Nobody is counted without a limit.
 */
export async function usage(
  redis: Redis,
  portfolio: NonNullable<RulesOwner['portfolio']>,
  { nowMs }: At = {},
): Promise<{ used: number; freeAtMs: number | undefined }> {
  const { id, dailyLimit, reservePercent } = portfolio
  const { budget, counts, people } = rulesKeys(0, id)
  const most = dailyLimit === null ? Number.MAX_SAFE_INTEGER : campaignLimit(dailyLimit, reservePercent)
  const reply = await usageScript(redis, { budget, counts }, { people: people(''), most, given: nowMs })
  const [used, freeAtMs] = usageReply.parse(reply)
  return { used, freeAtMs: freeAtMs === 0 ? undefined : freeAtMs }
}

/** To how many people campaigns may write first, now and on each coming day; null: no limit. */
export async function peopleAllowed(
  redis: Redis,
  { portfolio }: RulesOwner,
): Promise<{ now: number; a_day: number } | null> {
  if (portfolio === undefined || portfolio.dailyLimit === null) return null
  const a_day = campaignLimit(portfolio.dailyLimit, portfolio.reservePercent)
  const { used } = await usage(redis, portfolio)
  return { now: Math.max(0, a_day - used), a_day }
}

/** The public form of a portfolio. */
export async function showPortfolio(redis: Redis, portfolio: Portfolio, at: At = {}) {
  const { id, account, name, daily_limit, reserve_percent } = portfolio
  const [{ used, freeAtMs }, { count: held }] = await Promise.all([
    usage(redis, { id, dailyLimit: daily_limit, reservePercent: reserve_percent }, at),
    heldNow(redis, { portfolio: id }, at),
  ])
  const free_at = freeAtMs === undefined ? null : new Date(freeAtMs).toISOString()
  return { id, account, name, daily_limit, reserve_percent, used, free_at, held }
}
