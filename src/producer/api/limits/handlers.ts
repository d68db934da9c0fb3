// The limits of an account in force, and how much of each is used: to look at before somebody is refused.

import { type AccountLimits, LIMIT_SETTINGS, type LimitSetting } from '../../../accounts/settings.ts'
import { accountLimits, findAccount } from '../../../accounts/store/accounts.ts'
import { laneIdsOf } from '../../../accounts/store/senders.ts'
import { countDrafts, readRows } from '../../../campaigns/store/quotas.ts'
import type { Config } from '../../../config.ts'
import { keptBytes } from '../../../gallery/store/files.ts'
import { waitingOn } from '../../../queue/lane/stats.ts'
import type { Redis } from '../../../redis/connect.ts'
import { contactKeys } from '../../../redis/keys.ts'
import { bind, type Route } from '../../bind.ts'
import { limits } from './routes.ts'

export const limitRoutes = ({ redis, config }: { redis: Redis; config: Pick<Config, 'limits'> }): Route[] =>
  bind(limits)({
    list: async ({ caller }) => ({
      body: { status: true, data: await limitsInForce(redis, config, caller.account) },
    }),
  })

/** One of them, as GET /admin/limits answers. */
export interface LimitInForce {
  limit: LimitSetting
  /** null: none. */
  most: number | null
  own: boolean
  /** null: it is of each second, and nothing adds up. */
  used: number | null
}

/** All limits of the account, in the order of LIMIT_SETTINGS. Rejects when Redis is away. */
async function limitsInForce(
  redis: Redis,
  { limits }: Pick<Config, 'limits'>,
  account: number,
): Promise<LimitInForce[]> {
  const [inForce, own, used] = await Promise.all([
    accountLimits(redis, account, limits),
    findAccount(redis, account),
    useOf(redis, account),
  ])
  return (Object.entries(LIMIT_SETTINGS) as [LimitSetting, keyof AccountLimits][]).map(([limit, name]) => ({
    limit,
    most: inForce[name] === 0 ? null : inForce[name],
    own: own?.[limit] !== undefined && own[limit] !== null,
    used: used[name] ?? null,
  }))
}

async function useOf(redis: Redis, account: number): Promise<Partial<AccountLimits>> {
  const [waiting, drafts, rows, galleryBytes, contacts] = await Promise.all([
    laneIdsOf(redis, account).then((lanes) => waitingOn(redis, lanes)),
    countDrafts(redis, account),
    readRows(redis, account, '', 0),
    keptBytes(redis, account),
    redis.hlen(contactKeys(account).phones),
  ])
  return { waiting, drafts, rowsBytes: rows.total, galleryBytes, contacts }
}
