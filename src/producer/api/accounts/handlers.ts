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
import { bind, type Route } from '../../bind.ts'
import { created, lists, says, shows } from '../answers.ts'
import { byId, found, makeOnceById, pageOfAll } from '../requests.ts'
import { accounts } from './routes.ts'

export function accountRoutes(
  deps: Pick<SenderDeps, 'redis' | 'queues'> & { config: { retentionMs: number } },
): Route[] {
  const { redis, config } = deps
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
      await removeAccount(deps, id, config.retentionMs)
      return says('removed')
    },
  })
}
