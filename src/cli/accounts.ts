// accounts: create, list, show, set, unset, remove. Secrets of webhooks are sealed before they are stored and never shown.
import type { Readable } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import { z } from 'zod'
import {
  type Account,
  type AccountSetting,
  accountSettings,
  createAccount,
  listAccounts,
  setAccountSettings,
} from '../accounts/accounts.ts'
import { addWebhookSecret, countWebhookSecrets, removeWebhookSecrets } from '../accounts/webhook-secrets.ts'
import { createSeal } from '../kernel/seal.ts'
import { secretKeysOf } from '../kernel/secret-keys.ts'
import { isLimitSetting, LIMIT_SETTINGS, limitSchema } from '../model/accounts/limits.ts'
import {
  isWebhookSecret,
  WEBHOOK_SECRETS,
  type WebhookSecretName,
  webhookSecretSchema,
} from '../model/accounts/secrets.ts'
import { isAccountSetting } from '../model/accounts/settings.ts'
import { CliFailure } from './failure.ts'
import { type Columns, listed, table, tableOf } from './print.ts'
import { confirm, existingAccount, keptAccount, laneQueues } from './session.ts'
import { accountId, nameUpTo, oneOf, parser } from './values.ts'
import { type Answer, type CommandContext, flag, type Verb, verb } from './verb.ts'

const settingNames = Object.keys(accountSettings).filter(isAccountSetting)
const limitNames = Object.keys(LIMIT_SETTINGS).filter(isLimitSetting)
const allNames = [...settingNames, ...limitNames]
/** What people type to give up a limit of the account's own. */
const OF_INSTALLATION = 'default'

const COLUMNS: Columns<Account> = {
  ID: ({ id }) => id,
  NAME: ({ name }) => name,
  ...Object.fromEntries(settingNames.map((name) => [name.toUpperCase(), (account: Account) => account[name]])),
}

export const verbs: readonly Verb[] = [
  verb({
    usage: 'create <name>',
    summary: 'create an account with the default settings',
    act: 'account.create',
    example: '"Corner shop"',
    values: { name: nameUpTo(100) },
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
    values: {},
    run: async (_, { redis }) => listed(await listAccounts(redis), COLUMNS, 'There is no account yet.'),
  }),

  verb({
    usage: 'show <id>',
    summary: 'show an account with its settings',
    example: '1',
    values: { id: accountId },
    async run({ id }, { redis }) {
      const account = await existingAccount(redis, id)
      const limits = limitNames.map((name) => [name, String(account[name] ?? OF_INSTALLATION)])
      return { json: account, text: `${tableOf([account], COLUMNS)}\n\n${table(['LIMIT', 'VALUE'], limits)}` }
    },
  }),

  verb({
    usage: 'set <id> <setting> <value>',
    summary:
      `change a setting: ${allNames.join(', ')}; ` +
      `or add a secret of its webhooks, from standard input: ${WEBHOOK_SECRETS.join(', ')}`,
    act: 'account.set',
    example: '1 policy.campaign at_least_once',
    values: {
      id: accountId,
      setting: parser(`one of ${[...allNames, ...WEBHOOK_SECRETS].join(', ')}`, (word) =>
        isAccountSetting(word) || isLimitSetting(word) || isWebhookSecret(word) ? word : undefined,
      ),
      value: z.string(),
    },
    check({ setting, value }, wrong) {
      if (isWebhookSecret(setting)) return
      const fault = isLimitSetting(setting) ? limitFault(value) : settingFault(setting, value)
      if (fault !== undefined) wrong('value', fault)
    },
    async run({ id, setting, value }, { redis, config, stdin }) {
      await existingAccount(redis, id)
      if (isWebhookSecret(setting)) return addSecret({ redis, config }, id, setting, await readSecret(value, stdin))
      const ofLimit = value === OF_INSTALLATION ? null : Number(value)
      await setAccountSettings(redis, id, { [setting]: isLimitSetting(setting) ? ofLimit : value })
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
    values: { id: accountId, secret: oneOf(WEBHOOK_SECRETS), all: flag('end the newest too') },
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
    values: { id: accountId, yes: flag('do not ask first') },
    async run({ id, yes }, context) {
      const { redis, config } = context
      const { name } = await keptAccount(redis, id)
      if (!yes) {
        await confirm(context, {
          sentence: `This removes account ${id} (${name}) for good, with its keys, senders, contacts, gallery and templates`,
          declined: 'Nothing was removed.',
        })
      }
      const { removeAccount } = await import('../admin/remove-account.ts')
      await removeAccount({ redis, queues: await laneQueues(context) }, id, config.retentionMs)
      return {
        json: { id, removed: true },
        text: `Removed account ${id} with its keys and senders; what is kept of its messages ends by itself.`,
        acted: { account: id, target: String(id) },
      }
    },
  }),
]

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
  return `expected ${allowed}, got "${value}"`
}

const limitFault = (value: string): string | undefined =>
  value === OF_INSTALLATION || (/^\d+$/.test(value) && limitSchema.safeParse(Number(value)).success)
    ? undefined
    : `expected a whole number, 0 for no limit, or ${OF_INSTALLATION} for the installation's, got "${value}"`
