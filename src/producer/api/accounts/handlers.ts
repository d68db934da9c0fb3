// Accounts, for operators.

import { removeAccount } from '../../../accounts/commands/remove-account.ts'
import type { SenderDeps } from '../../../accounts/commands/senders.ts'
import {
  type Account,
  createAccount,
  findAccount,
  listAccounts,
  newAccountId,
  setAccountSettings,
} from '../../../accounts/store/accounts.ts'
import { once } from '../../../messages/accept/once.ts'
import { bodyDigest } from '../../../messages/store/idempotency.ts'
import { bind, type Route } from '../../bind.ts'
import { notFound } from '../../errors.ts'
import { byId, pageOfAll } from '../pages.ts'
import { accounts } from './routes.ts'

/** The routes of routes/accounts.ts. */
export function accountRoutes(
  deps: Pick<SenderDeps, 'redis' | 'queues'> & { config: { retentionMs: number } },
): Route[] {
  const { redis, config } = deps

  async function existing(id: number): Promise<Account> {
    const account = await findAccount(redis, id)
    if (account === undefined) throw notFound('The account')
    return account
  }

  return bind(accounts)({
    async list({ query }) {
      return { body: { status: true, ...pageOfAll(await listAccounts(redis), byId, query) } }
    },
    async create({ caller, body: { name }, sent, headers, note }) {
      const use = { account: caller.account, route: 'account', key: headers['Idempotency-Key'] }
      const id = await once(
        redis,
        { ...use, digest: () => bodyDigest(sent) },
        {
          prepare: async () => ({ name: String(await newAccountId(redis)), work: undefined }),
          make: (fresh) => createAccount(redis, name, Number(fresh)),
          find: async (fresh) => ((await findAccount(redis, Number(fresh))) ? Number(fresh) : undefined),
        },
      )
      note({ account: id })
      return { status: 201, body: { status: true, message: 'created', data: await existing(id) } }
    },
    async show({ params }) {
      return { body: { status: true, message: 'account', data: await existing(params.id) } }
    },
    async change({ params: { id }, body, note }) {
      await existing(id)
      await setAccountSettings(redis, id, body)
      note({ account: id, detail: Object.keys(body).join(',') })
      return { body: { status: true, message: 'changed', data: await existing(id) } }
    },
    async remove({ params: { id }, note }) {
      note({ account: id })
      await removeAccount(deps, id, config.retentionMs)
      return { body: { status: true, message: 'removed' } }
    },
  })
}
