// accounts: create, list, show, set, unset. Secrets of webhooks are sealed before they are stored and never shown.
import type { Readable } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import { z } from 'zod'
import { createSeal, secretKeysOf } from '../accounts/seal.ts'
import {
  isAccountSetting,
  isLimitSetting,
  isWebhookSecret,
  LIMIT_SETTINGS,
  limitSchema,
  WEBHOOK_SECRETS,
  type WebhookSecretName,
  webhookSecretSchema,
} from '../accounts/settings.ts'
import {
  type Account,
  type AccountSetting,
  accountSettings,
  createAccount,
  FIRST_POLICY_NAMES,
  findAccount,
  findKeptAccount,
  type KeptAccount,
  listAccounts,
  setAccountSetting,
  setAccountSettings,
} from '../accounts/store/accounts.ts'
import { addWebhookSecret, countWebhookSecrets, removeWebhookSecrets } from '../accounts/store/webhook-secrets.ts'
import type { Redis } from '../redis/connect.ts'
import { confirm } from './confirm.ts'
import { CliFailure } from './failure.ts'
import { table } from './table.ts'
import { accountId, nameUpTo, oneOf, parser } from './values.ts'
import { type Answer, type CommandContext, type Noun, verb } from './verb.ts'

const settingNames = Object.keys(accountSettings)
const limitNames = Object.keys(LIMIT_SETTINGS).filter(isLimitSetting)
const allNames = [...settingNames, ...limitNames]
/** What people type to give up a limit of the account's own. */
const OF_INSTALLATION = 'default'

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
        return { json: account, text: `${tableOf([account])}\n\n${tableOfLimits(account)}` }
      },
    }),

    verb({
      usage: 'set <id> <setting> <value>',
      summary: `change a setting: ${allNames.join(', ')}; or add a secret of its webhooks, from standard input: ${WEBHOOK_SECRETS.join(', ')}`,
      act: 'account.set',
      example: '1 policy.campaign at_least_once',
      options: {},
      values: z
        .strictObject({
          id: accountId,
          setting: parser(`one of ${[...allNames, ...WEBHOOK_SECRETS].join(', ')}`, (word) =>
            isAccountSetting(word) || isLimitSetting(word) || isWebhookSecret(word) ? word : undefined,
          ),
          value: z.string(),
        })
        .superRefine(({ setting, value }, context) => {
          if (isWebhookSecret(setting)) return
          const fault = isLimitSetting(setting) ? limitFault(value) : settingFault(setting, value)
          if (fault !== undefined) context.addIssue({ code: 'custom', path: ['value'], message: fault })
        }),
      async run({ id, setting, value }, { redis, config, stdin }) {
        await existingAccount(redis, id)
        if (isWebhookSecret(setting)) return addSecret({ redis, config }, id, setting, await readSecret(value, stdin))
        if (isLimitSetting(setting)) {
          await setAccountSettings(redis, id, { [setting]: value === OF_INSTALLATION ? null : Number(value) })
        } else {
          await setAccountSetting(redis, id, setting, value)
        }
        return {
          json: await existingAccount(redis, id),
          text: `Account ${id} has ${setting} ${value}.`,
          acted: { account: id, target: String(id), detail: setting },
        }
      },
    }),

    verb({
      usage: 'unset <id> <secret>',
      summary: `remove the older of two webhook secrets: ${WEBHOOK_SECRETS.join(', ')}`,
      act: 'account.unset',
      example: '1 webhook.app_secret',
      options: { '--all': 'end the newest too' },
      values: z.strictObject({ id: accountId, secret: oneOf(WEBHOOK_SECRETS), all: z.boolean().default(false) }),
      async run({ id, secret, all }, { redis }) {
        await existingAccount(redis, id)
        const removed = await removeWebhookSecrets(redis, id, secret, all)
        return {
          json: await countWebhookSecrets(redis, id),
          text:
            removed === 0
              ? `Account ${id} has no ${all ? '' : 'older '}${secret}.`
              : `Removed ${removed} ${secret} of account ${id}; webhooks that need it are refused within a second.`,
          acted: removed === 0 ? undefined : { account: id, target: String(id), detail: secret },
        }
      },
    }),

    verb({
      usage: 'remove <id>',
      summary: 'remove an account whose senders have nothing to do; its messages are kept until they expire',
      act: 'account.remove',
      example: '1',
      options: { '--yes': 'do not ask first' },
      values: z.strictObject({ id: accountId, yes: z.boolean().default(false) }),
      async run({ id, yes }, context) {
        const { redis, config } = context
        const { name } = await keptAccount(redis, id)
        if (!yes) {
          await confirm(context, {
            sentence: `This removes account ${id} (${name}) for good, with its keys, senders, contacts, gallery and templates`,
            otherwise: 'Confirm with --yes.',
            declined: 'Nothing was removed.',
          })
        }
        // Loaded only here: BullMQ takes longer to load than all that the other commands need.
        const [{ openLaneQueues }, { removeAccount }] = await Promise.all([
          import('../queue/lane/queues.ts'),
          import('../accounts/commands/remove-account.ts'),
        ])
        const queues = openLaneQueues(redis)
        try {
          await removeAccount({ redis, queues }, id, config.retentionMs)
        } finally {
          await queues.close()
        }
        return {
          json: { id, removed: true },
          text: `Removed account ${id} with its keys and senders; what is kept of its messages ends by itself.`,
          acted: { account: id, target: String(id) },
        }
      },
    }),
  ],
}

async function addSecret(
  { redis, config }: Pick<CommandContext, 'redis' | 'config'>,
  id: number,
  name: WebhookSecretName,
  secret: string,
): Promise<Answer> {
  const count = await addWebhookSecret(redis, createSeal(secretKeysOf(config)), id, name, secret)
  const beside = count > 1 ? `; the one before is good beside it until \`accounts unset ${id} ${name}\`` : ''
  return {
    json: await countWebhookSecrets(redis, id),
    text: `Account ${id} has a new ${name}${beside}. Its webhooks go to /webhooks/cloud-api/${id}.`,
    acted: { account: id, target: String(id), detail: name },
  }
}

/** On the command line everybody who has an account on the machine could read it. */
async function readSecret(value: string, stdin: Readable): Promise<string> {
  if (value !== '-') throw new CliFailure('<value>: expected - and the secret on standard input.', 2)
  const { data, error } = webhookSecretSchema.safeParse((await readAll(stdin)).trim())
  if (data === undefined) throw new CliFailure(`<value>: ${error.issues[0]?.message}.`, 2)
  return data
}

function settingFault(setting: AccountSetting, value: string): string | undefined {
  if (accountSettings[setting].safeParse(value).success) return undefined
  const schema = accountSettings[setting].unwrap()
  const allowed = 'options' in schema ? schema.options.join(' or ') : 'up to 20 words separated by commas'
  const newName = setting.startsWith('policy.') ? FIRST_POLICY_NAMES.get(value) : undefined
  return `expected ${allowed}, got "${value}"${newName === undefined ? '' : `, which is called ${newName} now`}`
}

const limitFault = (value: string): string | undefined =>
  value === OF_INSTALLATION || (/^\d+$/.test(value) && limitSchema.safeParse(Number(value)).success)
    ? undefined
    : `expected a whole number, 0 for no limit, or ${OF_INSTALLATION} for the installation's, got "${value}"`

/** The account, or a failure that names it. */
export async function existingAccount(redis: Redis, id: number): Promise<Account> {
  const account = await findAccount(redis, id)
  if (account === undefined) throw new CliFailure(`Account ${id} does not exist, see \`accounts list\`.`)
  return account
}

/** The same, or one that was removed and of which something is kept. */
export async function keptAccount(redis: Redis, id: number): Promise<KeptAccount> {
  const account = await findKeptAccount(redis, id)
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

const tableOfLimits = (account: Account): string =>
  table(
    ['LIMIT', 'VALUE'],
    limitNames.map((name) => [name, account[name] === null ? OF_INSTALLATION : String(account[name])]),
  )
