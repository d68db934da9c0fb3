// A business portfolio: WhatsApp counts the people to whom its numbers write first, all numbers together. Pure.

/** Default share of the budget that is reserved for transactional messages (%). */
export const RESERVE_PERCENT = 10

/** Most people of a daily limit: more than WhatsApp lets any portfolio write to in a day. */
export const DAILY_LIMIT_MAX = 100_000_000

/** What a message may wait for by WhatsApp's own rules. */
export const RULE_WAIT_REASONS = ['person_capped', 'portfolio_limit', 'held'] as const
/** What all campaigns of a sender may wait for: `lane_cooldown` while its number is held back for spam. */
export const CAMPAIGNS_WAIT_REASONS = [...RULE_WAIT_REASONS, 'lane_cooldown'] as const

/** How many people campaigns may write to; the reserve is rounded up. */
export const campaignLimit = (dailyLimit: number, reservePercent: number): number =>
  Math.floor((dailyLimit * (100 - reservePercent)) / 100)
