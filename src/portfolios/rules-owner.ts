// Whose rules a sender keeps: those of its portfolio, or its own where it belongs to none.
import type { Sender } from '../accounts/senders.ts'
import type { Redis } from '../redis/connect.ts'
import { cachedPortfolio } from './portfolios.ts'

/** Whose caps, holds and budget count. */
export interface RulesOwner {
  lane: number
  portfolio?: {
    id: number
    /** People in a moving 24 hours; null: no limit. */
    dailyLimit: number | null
    reservePercent: number
  }
}

/** Whose rules hold for the sender, as they were within the last second. */
export async function rulesOwnerOf(redis: Redis, sender: Pick<Sender, 'id' | 'portfolio'>): Promise<RulesOwner> {
  const portfolio = sender.portfolio === null ? undefined : await cachedPortfolio(redis, sender.portfolio)
  if (portfolio === undefined) return { lane: sender.id }
  const { id, daily_limit: dailyLimit, reserve_percent: reservePercent } = portfolio
  return { lane: sender.id, portfolio: { id, dailyLimit, reservePercent } }
}
