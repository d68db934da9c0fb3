// A business portfolio, and its public form: WhatsApp counts the people to whom its numbers write first, all
// numbers together. Pure.
import { z } from 'zod'

/** Default share of the budget that is reserved for transactional messages (%). */
export const RESERVE_PERCENT = 10

/** Most people of a daily limit: more than WhatsApp lets any portfolio write to in a day. */
export const DAILY_LIMIT_MAX = 100_000_000

/** What a message may wait for by WhatsApp's own rules. */
export const RULE_WAIT_REASONS = ['person_capped', 'portfolio_limit', 'held'] as const
/** What all campaigns of a sender may wait for: `lane_cooldown` while its number is held back for spam. */
export const CAMPAIGNS_WAIT_REASONS = [...RULE_WAIT_REASONS, 'lane_cooldown'] as const

/** The public form of a portfolio. */
export const portfolioDocumentSchema = z
  .strictObject({
    id: z.int(),
    account: z.int(),
    name: z.string(),
    daily_limit: z
      .int()
      .nullable()
      .describe(
        'People in a moving 24 hours to whom its numbers may write first; null: no limit, and nobody is counted.',
      ),
    reserve_percent: z.int().describe('Share of it that campaigns leave to transactional messages.'),
    used: z.int().describe('People counted in the last 24 hours.'),
    free_at: z.iso
      .datetime()
      .nullable()
      .describe('When campaigns can write to somebody new again; null while they can.'),
    held: z.int().describe('Messages that WhatsApp holds back now to see how people like a template.'),
  })
  .meta({ id: 'Portfolio' })
export type PortfolioDocument = z.infer<typeof portfolioDocumentSchema>

/** How many people campaigns may write to; the reserve is rounded up. */
export const campaignLimit = (dailyLimit: number, reservePercent: number): number =>
  Math.floor((dailyLimit * (100 - reservePercent)) / 100)
