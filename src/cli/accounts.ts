// accounts: create, list, set.
import { z } from 'zod'
import { isAccountSetting } from '../accounts/settings.ts'
import {
  type Account,
  accountSettings,
  createAccount,
  FIRST_POLICY_NAMES,
  findAccount,
  listAccounts,
  setAccountSetting,
} from '../accounts/store/accounts.ts'
import type { Redis } from '../redis/connect.ts'
import { CliFailure } from './failure.ts'
import { table } from './table.ts'
import { accountId, nameUpTo, parser } from './values.ts'
import { type Noun, verb } from './verb.ts'

const settingNames = Object.keys(accountSettings)

export const accounts: Noun = {
  name: 'accounts',
  summary: 'the owners of keys, senders, templates and contacts',
  verbs: [
    verb({
      usage: 'create <name>',
      summary: 'create an account with the default settings',
      act: 'account.create',
      example: '"Corner shop"',
      options: {},
      values: z.strictObject({ name: nameUpTo(100) }),
      async run({ name }, { redis }) {
        const account = await existingAccount(redis, await createAccount(redis, name))
        return {
          json: account,
          text: `Account ${account.id}, ${account.name}, was created. Next: \`keys create\`, \`senders add\`.`,
          acted: { account: account.id, target: String(account.id) },
        }
      },
    }),

    verb({
      usage: 'list',
      summary: 'list all accounts with their settings',
      example: '--json',
      options: {},
      values: z.strictObject({}),
      async run(_, { redis }) {
        const accounts = await listAccounts(redis)
        return { json: accounts, text: accounts.length === 0 ? 'There is no account yet.' : tableOf(accounts) }
      },
    }),

    verb({
      usage: 'show <id>',
      summary: 'show an account with its settings',
      example: '1',
      options: {},
      values: z.strictObject({ id: accountId }),
      async run({ id }, { redis }) {
        const account = await existingAccount(redis, id)
        return { json: account, text: tableOf([account]) }
      },
    }),

    verb({
      usage: 'set <id> <setting> <value>',
      summary: `change a setting: ${settingNames.join(', ')}`,
      act: 'account.set',
      example: '1 policy.campaign at_least_once',
      options: {},
      values: z
        .strictObject({
          id: accountId,
          setting: parser(`one of ${settingNames.join(', ')}`, (word) => (isAccountSetting(word) ? word : undefined)),
          value: z.string(),
        })
        .superRefine(({ setting, value }, context) => {
          const { success } = accountSettings[setting].safeParse(value)
          if (success) return
          const schema = accountSettings[setting].unwrap()
          const allowed = 'options' in schema ? schema.options.join(' or ') : 'up to 20 words separated by commas'
          const newName = setting.startsWith('policy.') ? FIRST_POLICY_NAMES.get(value) : undefined
          const hint = newName === undefined ? '' : `, which is called ${newName} now`
          context.addIssue({ code: 'custom', path: ['value'], message: `expected ${allowed}, got "${value}"${hint}` })
        }),
      async run({ id, setting, value }, { redis }) {
        await existingAccount(redis, id)
        await setAccountSetting(redis, id, setting, value)
        return {
          json: await existingAccount(redis, id),
          text: `Account ${id} has ${setting} ${value}.`,
          acted: { account: id, target: String(id), detail: setting },
        }
      },
    }),
  ],
}

/** The account, or a failure that names it. */
export async function existingAccount(redis: Redis, id: number): Promise<Account> {
  const account = await findAccount(redis, id)
  if (account === undefined) throw new CliFailure(`Account ${id} does not exist, see \`accounts list\`.`)
  return account
}

function tableOf(accounts: readonly Account[]): string {
  const headings = ['ID', 'NAME', ...settingNames.map((name) => name.toUpperCase())]
  return table(
    headings,
    accounts.map(({ id, name, ...settings }) => [
      String(id),
      name,
      ...settingNames.map((setting) => (isAccountSetting(setting) ? settings[setting] : '')),
    ]),
  )
}
