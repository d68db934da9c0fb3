// The owner of a sender's rules: its portfolio, or its own lane if it belongs to none.
import type { Sender } from '../accounts/senders.ts'
import type { Redis } from '../redis/connect.ts'
import { rulesKeys } from '../redis/keys.ts'
import { cachedPortfolio } from './portfolios.ts'

/** What is enough to find its keys. */
export interface RulesOwnerId {
  lane: number
  portfolio?: { id: number }
}

/** The owner of caps, held places and budget. */
export interface RulesOwner {
  lane: number
  portfolio?: {
    id: number
    /** People in a moving 24 hours; null: no limit. */
    dailyLimit: number | null
    reservePercent: number
  }
}

/** The owner of the sender's rules, cached for a second. */
export async function rulesOwnerOf(redis: Redis, sender: Pick<Sender, 'id' | 'portfolio'>): Promise<RulesOwner> {
  const portfolio = sender.portfolio === null ? undefined : await cachedPortfolio(redis, sender.portfolio)
  if (portfolio === undefined) return { lane: sender.id }
  const { id, daily_limit: dailyLimit, reserve_percent: reservePercent } = portfolio
  return { lane: sender.id, portfolio: { id, dailyLimit, reservePercent } }
}

/** Its keys. */
export const rulesKeysOf = ({ lane, portfolio }: RulesOwnerId): ReturnType<typeof rulesKeys> =>
  rulesKeys(lane, portfolio?.id)

/** The time of the caller, in place of the clock of Redis. Only tests give another than now. */
export interface At {
  nowMs?: number | undefined
}
