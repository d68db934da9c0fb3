// senders: add, list, change, renew, remove. The provider's token is sealed before it is stored and never shown.
import type { Readable } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import { z } from 'zod'
import { changeSender, dropSender, makeSender, type SenderDeps, showSenders } from '../accounts/commands/senders.ts'
import { createSeal, secretKeysOf } from '../accounts/seal.ts'
import type { SenderDocument } from '../accounts/sender.ts'
import { isSenderName, providerNameSchema, senderFaults, TOKEN } from '../accounts/sender.ts'
import { SenderTakenError } from '../accounts/store/add-sender.ts'
import { DEFAULT_RATE } from '../accounts/store/senders.ts'
import { existingAccount } from './accounts.ts'
import { CliFailure } from './failure.ts'
import { keptSenderNamed, senderNamed } from './sender-named.ts'
import { table } from './table.ts'
import { accountId, httpAddress, nameUpTo, oneOf, parser, phoneNumber, rate, senderName } from './values.ts'
import { type CommandContext, type Noun, verb } from './verb.ts'

const newName = nameUpTo(100).refine(isSenderName, 'expected a name with at least one letter')

const newSender = z
  .strictObject({
    account: accountId,
    number: phoneNumber,
    provider: oneOf(providerNameSchema.options),
    baseUrl: httpAddress,
    token: z.string(),
    phoneNumberId: parser('digits, as WhatsApp shows them', (id) => (/^\d{1,30}$/.test(id) ? id : undefined)).default(
      '',
    ),
    name: newName.default(''),
    rate: rate.default(DEFAULT_RATE),
    honoursIdempotency: z.boolean().default(false),
    default: z.boolean().default(false),
  })
  .superRefine((sender, context) => {
    for (const { field, message } of senderFaults(sender, '--provider')) {
      context.addIssue({ code: 'custom', path: [field], message })
    }
  })

const TOKEN_MEANING = '; - reads it from standard input and keeps it out of the shell history'

export const senders: Noun = {
  name: 'senders',
  summary: 'the numbers that messages are sent from, each with its provider',
  verbs: [
    verb({
      usage: 'add',
      summary: 'add a number to an account; its first one becomes the default',
      act: 'sender.create',
      example:
        '--account 1 --number +14155550100 --provider cloud-api --base-url https://graph.example --phone-number-id 1065550100 --token - < token.txt',
      options: {
        '!--account <id>': 'account that owns the number',
        '!--number <number>': 'full international number',
        '!--provider <name>': providerNameSchema.options.join(' or '),
        '!--base-url <address>': "address of the provider's server",
        '!--token <token>': `token or api_key of the provider${TOKEN_MEANING}`,
        '--phone-number-id <id>': "WhatsApp's id of the number (required with cloud-api)",
        '--name <name>': 'alias for the sender',
        '--rate <number>': `messages per second (default: ${DEFAULT_RATE})`,
        '--honours-idempotency': 'the provider honours our Idempotency-Key, which makes a repeat safe (partner-api)',
        '--default': 'send service messages of the account from this number',
      },
      values: newSender,
      async run({ default: isDefault, token: typed, ...wanted }, context) {
        await existingAccount(context.redis, wanted.account)
        const token = await readToken(typed, context.stdin)
        const sender = await withSenders(context, (deps) =>
          makeSender(deps, { ...wanted, token, isDefault }).catch((error: unknown) => {
            throw error instanceof SenderTakenError ? taken(wanted[error.what], error) : error
          }),
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
      options: { '--account <id>': 'only this account' },
      values: z.strictObject({ account: accountId.optional() }),
      async run({ account }, { redis }) {
        if (account !== undefined) await existingAccount(redis, account)
        const all = await showSenders(redis, account)
        return { json: all, text: all.length === 0 ? 'There is no sender yet.' : tableOf(all) }
      },
    }),

    verb({
      usage: 'change <sender>',
      summary: 'change the name of a sender, or make it the default of its account; for its rate see `lanes rate`',
      act: 'sender.change',
      example: '1 --name "shop" --default',
      options: {
        '--name <name>': 'alias for the sender',
        '--default': 'send service messages of the account from this number',
      },
      values: z
        .strictObject({ sender: senderName, name: newName.optional(), default: z.literal(true).optional() })
        .refine(({ name, default: isDefault }) => name !== undefined || isDefault, {
          path: ['name'],
          message: 'expected a change, such as --name or --default',
        }),
      async run({ sender: named, name, default: isDefault }, context) {
        const { id } = await senderNamed(context.redis, named)
        const sender = await withSenders(context, (deps) =>
          changeSender(deps, id, { name, isDefault }).catch((error: unknown) => {
            throw error instanceof SenderTakenError ? taken(name ?? '', error) : error
          }),
        )
        const detail = [name === undefined ? '' : 'name', isDefault ? 'default' : ''].filter(Boolean).join(',')
        const acted = { account: sender.account, target: String(id), detail }
        return { json: sender, text: `Sender ${id} is changed.`, acted }
      },
    }),

    verb({
      usage: 'renew <sender>',
      summary: 'give a sender a new token, for instance after the old one expired; then resume its lane',
      act: 'sender.renew',
      example: '1 --token - < token.txt',
      options: {
        '!--token <token>': `the new token${TOKEN_MEANING}`,
        '--base-url <address>': "new address of the provider's server",
      },
      values: z.strictObject({ sender: senderName, token: z.string(), baseUrl: httpAddress.optional() }),
      async run({ sender: named, token: typed, baseUrl }, context) {
        const { id } = await senderNamed(context.redis, named)
        const token = await readToken(typed, context.stdin)
        const sender = await withSenders(context, (deps) => changeSender(deps, id, { token, baseUrl }))
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
      options: {},
      values: z.strictObject({ sender: senderName }),
      async run({ sender: named }, context) {
        const { id, number, account } = await keptSenderNamed(context.redis, named)
        await withSenders(context, (deps) => dropSender(deps, id, context.config.retentionMs))
        return {
          json: { id, removed: true },
          text: `Removed sender ${id}; ${number} can be added again.`,
          acted: { account, target: String(id) },
        }
      },
    }),
  ],
}

async function withSenders<T>({ redis, config }: CommandContext, work: (deps: SenderDeps) => Promise<T>): Promise<T> {
  // Loaded only here: BullMQ takes longer to load than all that the other commands need.
  const { openLaneQueues } = await import('../queue/lane/queues.ts')
  const queues = openLaneQueues(redis)
  try {
    const seal = createSeal(secretKeysOf(config))
    return await work({ redis, queues, seal, production: config.production })
  } finally {
    await queues.close()
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

/** Two lanes for one number would send at twice the pace that the chat product allows it. */
function taken(value: string, { what, holder: { id, account } }: SenderTakenError): CliFailure {
  return new CliFailure(
    `${FLAGS[what]}: ${value} belongs to sender ${id} of account ${account} already; see \`senders list\`.`,
  )
}

function tableOf(all: readonly SenderDocument[]): string {
  return table(
    ['ID', 'ACCOUNT', 'NUMBER', 'NAME', 'PROVIDER', 'RATE', 'DEFAULT', 'BASE URL'],
    all.map((sender) => [
      String(sender.id),
      String(sender.account),
      sender.number,
      sender.name ?? '',
      sender.provider,
      `${sender.rate}/s`,
      sender.default ? 'yes' : '',
      sender.base_url,
    ]),
  )
}
