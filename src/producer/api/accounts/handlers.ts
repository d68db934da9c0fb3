// Accounts, for operators; and the limits of an account with how much of each is used.

import {
  type Account,
  accountLimits,
  createAccount,
  findAccount,
  listAccounts,
  newAccountId,
  setAccountSettings,
} from '../../../accounts/accounts.ts'
import { laneIdsOf } from '../../../accounts/senders.ts'
import { countDrafts } from '../../../campaigns/store/draft-quota.ts'
import { readRows } from '../../../campaigns/store/rows-quota.ts'
import { keptBytes } from '../../../gallery/files.ts'
import type { Config } from '../../../kernel/config.ts'
import type { LaneQueues } from '../../../lanes/queues.ts'
import { waitingOn } from '../../../lanes/stats.ts'
import { type AccountLimits, LIMIT_SETTINGS, type LimitSetting } from '../../../model/accounts/limits.ts'
import type { Redis } from '../../../redis/connect.ts'
import { contactKeys } from '../../../redis/keys.ts'
import { bind, type Route } from '../../bind.ts'
import { created, lists, says, shows } from '../answers.ts'
import { byId, found, makeOnceById, pageOfAll } from '../requests.ts'
import { accounts, type LimitInForce, limits } from './routes.ts'

export function accountRoutes(
  // What a removal needs is loaded for it alone: BullMQ takes longer to load than all that the others need.
  { redis, config, queues }: { redis: Redis; config: { retentionMs: number }; queues: () => Promise<LaneQueues> },
): Route[] {
  const existing = async (id: number): Promise<Account> => found(await findAccount(redis, id), 'The account')

  return bind(accounts)({
    async list({ query }) {
      return lists(pageOfAll(await listAccounts(redis), byId, query))
    },
    async create(call) {
      const id = await makeOnceById(redis, call, 'account', {
        newId: newAccountId,
        make: (fresh) => createAccount(redis, call.body.name, fresh),
        find: async (fresh) => (await findAccount(redis, fresh))?.id,
      })
      call.audit({ account: id })
      return created(await existing(id))
    },
    async show({ params }) {
      return shows('account', await existing(params.id))
    },
    async change({ params: { id }, body, audit }) {
      await existing(id)
      await setAccountSettings(redis, id, body)
      audit({ account: id, detail: Object.keys(body).join(',') })
      return shows('changed', await existing(id))
    },
    async remove({ params: { id }, audit }) {
      audit({ account: id })
      const { removeAccount } = await import('../../../admin/remove-account.ts')
      await removeAccount({ redis, queues: await queues() }, id, config.retentionMs)
      return says('removed')
    },
  })
}

export const limitRoutes = ({ redis, config }: { redis: Redis; config: Pick<Config, 'limits'> }): Route[] =>
  bind(limits)({
    list: async ({ caller }) => ({
      body: { status: true, data: await limitsInForce(redis, config, caller.account) },
    }),
  })

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
