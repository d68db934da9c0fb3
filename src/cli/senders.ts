// senders: add, list, check, change, renew, remove. The provider's token is sealed before it is stored and never shown.
import type { Readable } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import { z } from 'zod'
import { SenderTakenError } from '../accounts/add-sender.ts'
import { DEFAULT_RATE, type Sender } from '../accounts/senders.ts'
import { checkSender } from '../admin/check-sender.ts'
import { changeSender, dropSender, makeSender, type SenderDeps, showSender, showSenders } from '../admin/senders.ts'
import { createSeal } from '../kernel/seal.ts'
import { secretKeysOf } from '../kernel/secret-keys.ts'
import {
  isSenderName,
  marketingRouteSchema,
  PROVIDER_ID,
  providerNameSchema,
  type SenderDocument,
  senderFaults,
  TOKEN,
} from '../model/accounts/sender.ts'
import type { SenderCheck } from '../model/accounts/sender-check.ts'
import { putIntoPortfolio } from '../portfolios/commands/portfolios.ts'
import { CliFailure } from './failure.ts'
import { confirmRate } from './lanes.ts'
import { type Columns, listed } from './print.ts'
import { laneQueues, retainedSenderNamed, senderNamed } from './session.ts'
import { accountId, httpAddress, nameUpTo, oneOf, parser, phoneNumber, rate, senderName } from './values.ts'
import { type CommandContext, flag, option, type Verb, verb } from './verb.ts'

const newName = nameUpTo(100).refine(isSenderName, 'expected a name with at least one letter')
const digits = parser('digits, as WhatsApp shows them', (id) => (/^\d{1,30}$/.test(id) ? id : undefined))
const wabaDigits = parser('digits, as WhatsApp shows them', (id) => (PROVIDER_ID.test(id) ? id : undefined))
const FROM_INPUT = '; - reads it from standard input and keeps it out of the shell history'
const asDefault = flag('send service messages of the account from this number')

const COLUMNS: Columns<SenderDocument> = {
  ID: ({ id }) => id,
  ACCOUNT: ({ account }) => account,
  NUMBER: ({ number }) => number,
  NAME: ({ name }) => name,
  PROVIDER: ({ provider }) => provider,
  RATE: (sender) => `${sender.rate}/s`,
  PORTFOLIO: ({ portfolio }) => portfolio ?? '',
  QUALITY: ({ restricted, quality }) => restricted ?? quality ?? '',
  DEFAULT: (sender) => (sender.default ? 'yes' : ''),
  'BASE URL': ({ base_url }) => base_url,
}

/** Settings of `senders set`, each with how it is changed. */
const SETTINGS: Record<string, (context: CommandContext, sender: Sender, value: string) => Promise<unknown>> = {
  async portfolio({ redis }, sender, value) {
    if (value !== 'none' && !/^[1-9]\d{0,14}$/.test(value)) {
      throw new CliFailure('portfolio: expected the number of a portfolio, or none.', 2)
    }
    await putIntoPortfolio(redis, sender, value === 'none' ? null : Number(value))
  },
  async waba_id(context, { id }, value) {
    if (value !== 'none' && !PROVIDER_ID.test(value)) throw new CliFailure('waba_id: expected digits, or none.', 2)
    await changeSender(await depsOf(context), id, { wabaId: value === 'none' ? '' : value })
  },
  async follow_provider(context, { id }, value) {
    await changeSender(await depsOf(context), id, { followProvider: isYes('follow_provider', value) })
  },
  async strict_pace(context, { id }, value) {
    await changeSender(await depsOf(context), id, { strictPace: isYes('strict_pace', value) })
  },
  async marketing_route(context, { id }, value) {
    const { data } = marketingRouteSchema.safeParse(value)
    if (data === undefined) {
      throw new CliFailure(`marketing_route: expected one of ${marketingRouteSchema.options.join(', ')}.`, 2)
    }
    await changeSender(await depsOf(context), id, { marketingRoute: data })
  },
}
const SETTING_NAMES = Object.keys(SETTINGS)

function isYes(setting: string, value: string): boolean {
  if (value !== 'yes' && value !== 'no') throw new CliFailure(`${setting}: expected yes or no.`, 2)
  return value === 'yes'
}

export const verbs: readonly Verb[] = [
  verb({
    usage: 'add',
    summary: 'add a number to an account; its first one becomes the default',
    act: 'sender.create',
    example:
      '--account 1 --number +14155550100 --provider cloud-api --base-url https://graph.facebook.com ' +
      '--phone-number-id 1065550100 --waba-id 1022901293 --token - < token.txt',
    values: {
      account: option(accountId, 'id', 'account that owns the number'),
      number: option(phoneNumber, 'number', 'full international number'),
      provider: option(oneOf(providerNameSchema.options), 'name', providerNameSchema.options.join(' or ')),
      baseUrl: option(httpAddress, 'address', "address of the provider's server"),
      token: option(z.string(), 'token', `token or api_key of the provider${FROM_INPUT}`),
      phoneNumberId: option(digits.default(''), 'id', "WhatsApp's id of the number (required with cloud-api)"),
      wabaId: option(
        wabaDigits.default(''),
        'id',
        'WhatsApp Business Account of the number; its templates are synced automatically',
      ),
      name: option(newName.default(''), 'name', 'alias for the sender'),
      rate: option(rate.default(DEFAULT_RATE), 'number', `messages per second (default: ${DEFAULT_RATE})`),
      yes: flag('do not ask before a rate that is above what WhatsApp grants to a new number'),
      honoursIdempotency: flag('the provider honours our Idempotency-Key, which makes a repeat safe (partner-api)'),
      default: asDefault,
    },
    check(sender, wrong) {
      for (const { field, message } of senderFaults(sender, '--provider')) wrong(field, message)
    },
    async run({ default: isDefault, token: typed, yes, ...wanted }, context) {
      if (!yes) await confirmRate(context, wanted.rate, DEFAULT_RATE)
      const token = await readToken(typed, context.stdin)
      const sender = await makeSender(await depsOf(context), { ...wanted, token, isDefault }).catch(
        (error: unknown) => {
          throw error instanceof SenderTakenError ? taken(wanted[error.what], error) : error
        },
      )
      const isNowDefault = sender.default ? ', and it is the default of its account' : ''
      return {
        json: sender,
        text: `Sender ${sender.number} was added; its lane is ${sender.id}${isNowDefault}.`,
        acted: { account: sender.account, target: String(sender.id) },
      }
    },
  }),

  verb({
    usage: 'list',
    summary: 'list the senders of one account or of all',
    example: '--account 1',
    values: { account: option(accountId.optional(), 'id', 'only this account') },
    run: async ({ account }, { redis }) =>
      listed(await showSenders(redis, account), COLUMNS, 'There is no sender yet.'),
  }),

  verb({
    usage: 'check <sender>',
    summary:
      'check a sender with WhatsApp, and show what is missing and what to do; exits with 1 while anything is missing',
    example: '1',
    values: { sender: senderName },
    async run({ sender: named }, context) {
      const { redis, config, use } = context
      const sender = await senderNamed(redis, named)
      const { createGraphApi } = await import('../providers/graph-api.ts')
      const graph = use(createGraphApi(config.cloudApiVersion))
      const seal = createSeal(secretKeysOf(config))
      const check = await checkSender({ redis, seal, graph, appSecret: config.cloudApi.appSecret }, sender)
      const fails = check.ok ? undefined : `Sender ${sender.id} cannot send, or gets no webhooks: something is missing.`
      return { json: check, text: checkText(check), fails }
    },
  }),

  verb({
    usage: 'change <sender>',
    summary: 'change the name of a sender, or make it the default of its account; for its rate see `lanes rate`',
    act: 'sender.change',
    example: '1 --name "shop" --default',
    values: {
      sender: senderName,
      name: option(newName.optional(), 'name', 'alias for the sender'),
      default: asDefault,
    },
    check({ name, default: isDefault }, wrong) {
      if (name === undefined && !isDefault) wrong('name', 'expected a change, such as --name or --default')
    },
    async run({ sender: named, name, default: isDefault }, context) {
      const { id } = await senderNamed(context.redis, named)
      const change = { name, isDefault: isDefault || undefined }
      const sender = await changeSender(await depsOf(context), id, change).catch((error: unknown) => {
        throw error instanceof SenderTakenError ? taken(name ?? '', error) : error
      })
      const detail = [name === undefined ? '' : 'name', isDefault ? 'default' : ''].filter(Boolean).join(',')
      const acted = { account: sender.account, target: String(id), detail }
      return { json: sender, text: `Sender ${id} is changed.`, acted }
    },
  }),

  verb({
    usage: 'set <sender> <setting> <value>',
    summary: `change a setting of a sender: ${SETTING_NAMES.join(', ')}`,
    act: 'sender.change',
    example: '1 portfolio 2',
    values: {
      sender: senderName,
      setting: oneOf(SETTING_NAMES),
      value: z.string().describe('an id, `none`, or yes or no'),
    },
    async run({ sender: named, setting, value }, context) {
      const sender = await senderNamed(context.redis, named)
      await SETTINGS[setting]?.(context, sender, value)
      const json = await showSender(context.redis, sender.id)
      const acted = { account: json.account, target: String(json.id), detail: setting }
      return { json, text: `Sender ${json.id}: ${setting} is ${value}.`, acted }
    },
  }),

  verb({
    usage: 'renew <sender>',
    summary: 'give a sender a new token, for instance after the old one expired; then resume its lane',
    act: 'sender.renew',
    example: '1 --token - < token.txt',
    values: {
      sender: senderName,
      token: option(z.string(), 'token', `the new token${FROM_INPUT}`),
      baseUrl: option(httpAddress.optional(), 'address', "new address of the provider's server"),
    },
    async run({ sender: named, token: typed, baseUrl }, context) {
      const { id } = await senderNamed(context.redis, named)
      const token = await readToken(typed, context.stdin)
      const sender = await changeSender(await depsOf(context), id, { token, baseUrl })
      return {
        json: sender,
        text: `Sender ${id} has a new token. If its lane is paused: \`lanes resume ${id}\`.`,
        acted: { account: sender.account, target: String(id) },
      }
    },
  }),

  verb({
    usage: 'remove <sender>',
    summary: 'remove a sender and free its number; its messages can still be looked up until they expire',
    act: 'sender.remove',
    example: '1',
    values: { sender: senderName },
    async run({ sender: named }, context) {
      const { id, number, account } = await retainedSenderNamed(context.redis, named)
      await dropSender(await depsOf(context), id, context.config.retentionMs)
      return {
        json: { id, removed: true },
        text: `Removed sender ${id}; ${number} can be added again.`,
        acted: { account, target: String(id) },
      }
    },
  }),
]

const MARKS = { good: 'ok', warning: 'warning', missing: 'MISSING', unknown: 'unknown' } as const

function checkText({ ok, findings }: SenderCheck): string {
  const rows = findings.map(({ what, state, sentence, do: todo }) => {
    const name = `${MARKS[state].padEnd(8)} ${what.replaceAll('_', ' ').padEnd(21)}`
    return todo === null || state === 'good' ? `${name} ${sentence}` : `${name} ${sentence}\n${' '.repeat(31)}${todo}`
  })
  const missing = findings.filter(({ state }) => state === 'missing').length
  return [...rows, '', ok ? 'Nothing is missing.' : `${missing} missing.`].join('\n')
}

async function depsOf(context: CommandContext): Promise<SenderDeps> {
  const { redis, config } = context
  const seal = createSeal(secretKeysOf(config))
  return {
    redis,
    queues: await laneQueues(context),
    seal,
    production: config.production,
    appSecret: config.cloudApi.appSecret,
  }
}

async function readToken(typed: string, stdin: Readable): Promise<string> {
  const token = (typed === '-' ? await readAll(stdin) : typed).trim()
  if (!TOKEN.test(token)) {
    throw new CliFailure('--token: expected printable characters without spaces, got none or others.', 2)
  }
  return token
}

const FLAGS = { number: '--number', name: '--name', phoneNumberId: '--phone-number-id' } as const

/** Two lanes for one number would send at twice the pace that WhatsApp allows it. */
function taken(value: string, { what, holder: { id, account } }: SenderTakenError): CliFailure {
  return new CliFailure(
    `${FLAGS[what]}: ${value} belongs to sender ${id} of account ${account} already; see \`senders list\`.`,
  )
}
