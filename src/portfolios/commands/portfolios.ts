// Commands on portfolios, the same over HTTP and on the command line.
import type { Sender } from '../../accounts/senders.ts'
import { doesNotExist, invalidFields, Refusal } from '../../kernel/refusal.ts'
import type { Redis } from '../../redis/connect.ts'
import { findPortfolio, joinPortfolio, type Portfolio, removePortfolio } from '../portfolios.ts'

/** A portfolio of the account (without one, of any). Throws a Refusal where there is none. */
export async function existingPortfolio(redis: Redis, id: number, account?: number): Promise<Portfolio> {
  const portfolio = await findPortfolio(redis, id)
  if (portfolio === undefined || portfolio.account !== (account ?? portfolio.account))
    throw doesNotExist('The portfolio')
  return portfolio
}

/** Removes a portfolio. Throws a Refusal `portfolio_in_use` that names the senders which belong to it. */
export async function dropPortfolio(redis: Redis, portfolio: Portfolio): Promise<void> {
  const senders = await removePortfolio(redis, portfolio)
  if (senders.length === 0) return
  const named = senders.slice(0, SENDERS_NAMED_MAX).join(', ')
  const sentence = `The portfolio cannot be removed: ${senders.length} of its senders belong to it (${named}); take them out first.`
  throw new Refusal('in_the_way', 'portfolio_in_use', sentence)
}

const SENDERS_NAMED_MAX = 10

/** Puts a sender into a portfolio of its account, or with null into none. Throws a Refusal where there is no such one. */
export async function putIntoPortfolio(redis: Redis, sender: Sender, portfolio: number | null): Promise<void> {
  if (await joinPortfolio(redis, sender, portfolio)) return
  throw invalidFields([{ path: 'portfolio', message: 'the account has no such portfolio' }])
}
