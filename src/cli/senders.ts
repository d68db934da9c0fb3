// senders: add, list, renew, remove. The provider's token is sealed before it is stored and never shown.
import type { Readable } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import { z } from 'zod'
import { createSeal, type Seal } from '../accounts/seal.ts'
import { secretKeyOf } from '../accounts/secret-key.ts'
import { providerNameSchema } from '../accounts/sender-settings.ts'
import { addSender, type NewSender, removeSender, SenderTakenError } from '../accounts/store/add-sender.ts'
import {
  DEFAULT_RATE,
  defaultSender,
  findSender,
  listSenders,
  type Sender,
  setSenderAccess,
} from '../accounts/store/senders.ts'
import { CAMPAIGN_STATES, hasEnded } from '../campaigns/states.ts'
import { idOf } from '../campaigns/store/campaigns.ts'
import { listCampaigns } from '../campaigns/store/list.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import { awaitingReview } from '../lanes/survey.ts'
import type { Redis } from '../redis/connect.ts'
import { existingAccount } from './accounts.ts'
import { CliFailure } from './failure.ts'
import { table } from './table.ts'
import { accountId, httpAddress, nameUpTo, oneOf, parser, phoneNumber, rate, senderId } from './values.ts'
import { type Noun, verb } from './verb.ts'

/** A letter keeps a name apart from a number: templates name their sender by either. */
const senderName = nameUpTo(100).refine((name) => /\p{L}/u.test(name), 'expected a name with at least one letter')

const newSender = z
  .strictObject({
    account: accountId,
    number: phoneNumber,
    provider: oneOf(providerNameSchema.options),
    baseUrl: httpAddress,
    token: z.string(),
    phoneNumberId: parser('digits, as the chat product shows them', (id) =>
      /^\d{1,30}$/.test(id) ? id : undefined,
    ).default(''),
    name: senderName.default(''),
    rate: rate.default(DEFAULT_RATE),
    honoursIdempotency: z.boolean().default(false),
    default: z.boolean().default(false),
  })
  .superRefine((sender, context) => {
    const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    const isCloud = sender.provider === 'cloud-api'
    if (isCloud && sender.phoneNumberId === '') fault('phoneNumberId', 'required with --provider cloud-api')
    if (!isCloud && sender.phoneNumberId !== '') fault('phoneNumberId', 'only known with --provider cloud-api')
    if (isCloud && sender.honoursIdempotency) fault('honoursIdempotency', 'only known with --provider partner-api')
  })
type NewSenderTyped = z.output<typeof newSender>

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
        '!--token <token>':
          'token or api_key of the provider; - reads it from standard input and keeps it out of the shell history',
        '--phone-number-id <id>': "the chat product's id of the number (required with cloud-api)",
        '--name <name>': 'alias for the sender',
        '--rate <number>': `messages per second (default: ${DEFAULT_RATE})`,
        '--honours-idempotency': 'the provider honours our Idempotency-Key, which makes a repeat safe (partner-api)',
        '--default': 'send service messages of the account from this number',
      },
      values: newSender,
      async run(typedSender, { redis, config, stdin }) {
        await existingAccount(redis, typedSender.account)
        await refuseForeign(redis, typedSender)
        const seal = createSeal(secretKeyOf(config))
        await refuseOtherSeal(redis, seal)
        const token = await readToken(typedSender.token, stdin)
        const id = await addOrRefuse(redis, {
          account: typedSender.account,
          number: typedSender.number,
          name: typedSender.name,
          provider: typedSender.provider,
          baseUrl: typedSender.baseUrl,
          sealedToken: seal.encrypt(token),
          phoneNumberId: typedSender.phoneNumberId,
          rate: typedSender.rate,
          honoursIdempotency: typedSender.honoursIdempotency,
          isDefault: typedSender.default,
        })
        await setPace(redis, id, typedSender.rate)
        const [sender] = await documentsOf(redis, [await findSender(redis, id)])
        return {
          json: sender,
          text: `Sender ${typedSender.number} was added; its lane is ${id}${sender?.default ? ', and it is the default of its account' : ''}.`,
          acted: { account: typedSender.account, target: String(id) },
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
        const senders = await documentsOf(redis, await listSenders(redis, account))
        return { json: senders, text: senders.length === 0 ? 'There is no sender yet.' : tableOf(senders) }
      },
    }),

    verb({
      usage: 'renew <id>',
      summary: 'give a sender a new token, for instance after the old one expired; then resume its lane',
      act: 'sender.renew',
      example: '1 --token - < token.txt',
      options: {
        '!--token <token>': 'the new token; - reads it from standard input and keeps it out of the shell history',
        '--base-url <address>': "new address of the provider's server",
      },
      values: z.strictObject({ id: senderId, token: z.string(), baseUrl: httpAddress.optional() }),
      async run({ id, token, baseUrl }, { redis, config, stdin }) {
        const sender = await findSender(redis, id)
        if (sender === undefined || sender.removed_at !== undefined) throw noSuchSender(id)
        const sealedToken = createSeal(secretKeyOf(config)).encrypt(await readToken(token, stdin))
        await setSenderAccess(redis, id, { baseUrl: baseUrl ?? sender.base_url, sealedToken })
        const [document] = await documentsOf(redis, [await findSender(redis, id)])
        return {
          json: document,
          text: `Sender ${id} has a new token. If its lane is paused: \`lanes resume ${id}\`.`,
          acted: { account: sender.account, target: String(id) },
        }
      },
    }),

    verb({
      usage: 'remove <id>',
      act: 'sender.remove',
      summary: 'remove a sender and free its number; its messages can still be looked up until they expire',
      example: '1',
      options: {},
      values: z.strictObject({ id: senderId }),
      async run({ id }, { redis, config }) {
        const sender = await findSender(redis, id)
        if (sender === undefined || sender.removed_at !== undefined) throw noSuchSender(id)
        // Loaded only here: BullMQ takes longer to load than all that the other commands need.
        const { openLaneQueues } = await import('../lanes/queues.ts')
        const lanes = openLaneQueues(redis)
        const busy = await removeSender(redis, sender, config.retentionMs, () => whyBusy(redis, lanes, sender))
        if (busy !== undefined) throw new CliFailure(`Sender ${id} cannot be removed: ${busy}`)
        await lanes.remove(id)
        await lanes.close()
        return {
          json: { id, removed: true },
          text: `Removed sender ${id}; ${sender.number} can be added again.`,
          acted: { account: sender.account, target: String(id) },
        }
      },
    }),
  ],
}

async function readToken(typed: string, stdin: Readable): Promise<string> {
  const token = (typed === '-' ? await readAll(stdin) : typed).trim()
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new CliFailure('--token: expected printable characters without spaces, got none or others.', 2)
  }
  return token
}

const noSuchSender = (id: number): CliFailure => new CliFailure(`There is no sender ${id}; see \`senders list\`.`)

const FLAGS = { number: '--number', name: '--name', phoneNumberId: '--phone-number-id' } as const

/** Two lanes for one number would send at twice the pace that the chat product allows it. */
const taken = (flag: string, value: string, { id, account }: Sender): CliFailure =>
  new CliFailure(`${flag}: ${value} belongs to sender ${id} of account ${account} already; see \`senders list\`.`)

async function addOrRefuse(redis: Redis, sender: NewSender): Promise<number> {
  try {
    return await addSender(redis, sender)
  } catch (error) {
    if (!(error instanceof SenderTakenError)) throw error
    throw taken(FLAGS[error.what], sender[error.what], error.holder)
  }
}

/** Senders that were added before numbers were filed for all accounts are found only by looking at all of them. */
async function refuseForeign(redis: Redis, { number }: NewSenderTyped): Promise<void> {
  const holder = (await listSenders(redis)).find((sender) => sender.number === number)
  if (holder) throw taken(FLAGS.number, number, holder)
}

/** What a sender still has to do, as a sentence; undefined when it has nothing. */
async function whyBusy(redis: Redis, lanes: LaneQueues, { id, account }: Sender): Promise<string | undefined> {
  const { failed: _deadLetters, ...jobs } = await lanes.counts(id)
  const waiting = Object.values(jobs).reduce((sum, each) => sum + each, 0) + (await awaitingReview(redis, id))
  if (waiting > 0) return `${waiting} of its messages are not settled yet; see \`lanes list\`.`
  const states = CAMPAIGN_STATES.filter((state) => !hasEnded(state))
  for await (const page of listCampaigns(redis, account, { offset: 0, limit: Number.MAX_SAFE_INTEGER, states })) {
    const campaign = page.find(({ lane }) => lane === id)
    if (campaign) return `campaign ${idOf(campaign)} is ${campaign.state}; cancel it first, or let it end.`
  }
  return undefined
}

/** A token sealed under another key than its neighbours could not be opened by the workers. Throws a SealError then. */
async function refuseOtherSeal(redis: Redis, seal: Seal): Promise<void> {
  const [neighbour] = await listSenders(redis)
  if (neighbour !== undefined) seal.decrypt(neighbour.token)
}

async function setPace(redis: Redis, lane: number, rate: number): Promise<void> {
  // Loaded only here: BullMQ takes longer to load than all that the other commands need.
  const { openLaneQueues } = await import('../lanes/queues.ts')
  const lanes = openLaneQueues(redis)
  await lanes.setPace(lane, rate)
  await lanes.close()
}

type SenderDocument = ReturnType<typeof documentOf>

/** What is shown of a sender: everything but its token. */
const documentOf = (sender: Sender, isDefault: boolean) => ({
  id: sender.id,
  account: sender.account,
  number: sender.number,
  name: sender.name || null,
  provider: sender.provider,
  base_url: sender.base_url,
  phone_number_id: sender.phone_number_id || null,
  rate: sender.rate,
  honours_idempotency: sender.honours_idempotency,
  default: isDefault,
})

async function documentsOf(redis: Redis, senders: readonly (Sender | undefined)[]): Promise<SenderDocument[]> {
  const found = senders.filter((sender) => sender !== undefined)
  const accounts = [...new Set(found.map((sender) => sender.account))]
  const defaults = await Promise.all(accounts.map((account) => defaultSender(redis, account)))
  const defaultIds = new Set(defaults.map((sender) => sender?.id))
  return found.map((sender) => documentOf(sender, defaultIds.has(sender.id)))
}

function tableOf(senders: readonly SenderDocument[]): string {
  return table(
    ['ID', 'ACCOUNT', 'NUMBER', 'NAME', 'PROVIDER', 'RATE', 'DEFAULT', 'BASE URL'],
    senders.map((sender) => [
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
