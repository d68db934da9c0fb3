// What each account may use up, as it was within the last two seconds: asked for at every request, so it must cost nothing.
import { LRUCache } from 'lru-cache'
import { NO_ACCOUNT } from '../../accounts/permissions.ts'
import { type AccountLimits, type InstallationLimits, limitsOf } from '../../accounts/settings.ts'
import { findAccount } from '../../accounts/store/accounts.ts'
import type { Redis } from '../../redis/connect.ts'

const KEPT_MS = 1_000
const MOST = 10_000

/** Limits of accounts in this process; those of one that cannot be read now are the installation's. */
export function createLimitsOfAccounts(
  redis: Redis,
  installation: InstallationLimits,
  clock = () => performance.now(),
) {
  const kept = new LRUCache<number, { limits: AccountLimits; untilMs: number }>({ max: MOST })
  const reading = new Map<number, Promise<AccountLimits>>()
  /** An operator that acts for nobody. */
  const ofNobody: AccountLimits = { ...installation, accountRate: 0 }

  async function read(account: number): Promise<AccountLimits> {
    try {
      const limits = limitsOf(await findAccount(redis, account), installation)
      kept.set(account, { limits, untilMs: clock() + KEPT_MS })
      return limits
    } catch {
      return kept.get(account)?.limits ?? limitsOf(undefined, installation)
    } finally {
      reading.delete(account)
    }
  }

  return {
    /** A promise only where they must be read. */
    of(account: number): AccountLimits | Promise<AccountLimits> {
      if (account === NO_ACCOUNT) return ofNobody
      const known = kept.get(account)
      if (known !== undefined && clock() < known.untilMs) return known.limits
      const under = reading.get(account) ?? read(account)
      reading.set(account, under)
      // What was known a second ago will do while it is read anew: no request waits for it. What an idle account had may
      // be an hour old.
      return known !== undefined && clock() < known.untilMs + KEPT_MS ? known.limits : under
    },
  }
}
