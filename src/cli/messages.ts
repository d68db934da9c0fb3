// messages: show, list, send, cancel, requeue. One message and everything that happened to it.
import { z } from 'zod'
import { keptAccounts } from '../accounts/accounts.ts'
import { sendersNamed } from '../accounts/named-senders.ts'
import { findSender, listRetainedSenders, type Sender } from '../accounts/senders.ts'
import { cutText } from '../kernel/cut-text.ts'
import { iso } from '../kernel/instant.ts'
import { type MessageId, parseMessageId } from '../kernel/message-id.ts'
import { archiveOf, type Cursor, type InboundMessage, readCursor, writeCursor } from '../lanes/archive/archive.ts'
import { cancelWherever } from '../messages/lookup/cancel.ts'
import { findMessages, type Search } from '../messages/lookup/find-messages.ts'
import { findMessage } from '../messages/lookup/lookup.ts'
import { historyOf, receivedDocument, sentDocument } from '../messages/lookup/message-document.ts'
import type { ListedMessage } from '../messages/lookup/message-schema.ts'
import { NO_ACCOUNT } from '../model/accounts/permissions.ts'
import { parseCampaignId } from '../model/campaigns/campaign-id.ts'
import { STATES } from '../model/messages/lifecycle.ts'
import { wordsOfPricing } from '../model/messages/pricing-words.ts'
import { wordsOfParts } from '../model/messages/received-words.ts'
import { namesOf } from '../people/names/names.ts'
import { findCampaign } from '../recipients/campaigns.ts'
import type { ListSettings } from '../recipients/unclaimed-message.ts'
import type { Redis } from '../redis/connect.ts'
import { CliFailure } from './failure.ts'
import { type Columns, clockTime, keyValueTable, table, tableOf } from './print.ts'
import { scheduledVerb } from './scheduled.ts'
import { sendVerb } from './send.ts'
import { laneQueues, noCampaign, noSender } from './session.ts'
import { noneWithCampaignId } from './unknown-campaign.ts'
import { findBy, instant, nameUpTo, oneOf, person, requeueValues } from './values.ts'
import { type Answer, flag, option, type Verb, verb } from './verb.ts'

const DEFAULT_LIMIT = 100
/** Characters of a text that a line has room for. */
const TEXT_SHOWN = 40

const COLUMNS: Columns<ListedMessage> = {
  ID: ({ id }) => id,
  ACCEPTED: ({ accepted_at }) => clockTime(accepted_at),
  STATE: (message) => (message.direction === 'inbound' ? 'received' : message.state),
  SENDER: ({ sender }) => sender,
  PERSON: (message) => (message.direction === 'inbound' ? message.from : message.to),
  KIND: ({ kind }) => kind,
  PROBLEM: ({ problem }) => problem?.code ?? '',
  TEXT: ({ text }) => (text.length > TEXT_SHOWN ? `${cutText(text, TEXT_SHOWN - 1)}…` : text),
}

export const verbs: readonly Verb[] = [
  verb({
    usage: 'show <id>',
    summary: 'show a message, why it waits, and its history; for a received message give the id of WhatsApp',
    example: 'msg_1_01KAG3V0Z4Q8N6T2R9X5C7B1MD',
    values: { id: z.string() },
    async run({ id }, { redis, config }) {
      const sent = parseMessageId(id)
      const answer = sent ? await showSent(redis, sent, config) : await showReceived(redis, id)
      if (answer === undefined) throw noMessage(id)
      return answer
    },
  }),
  verb({
    usage: 'list',
    summary: 'list messages, the newest first, by any filter',
    example: '--to +14155550123 --state failed --since 2026-03-01T00:00:00Z',
    takesRemovedAccount: true,
    values: {
      ...findBy,
      to: option(person.optional(), 'person', 'only those to one recipient, by number or user id'),
      from: option(person.optional(), 'person', 'only those received from one person, by number or user id'),
      with: option(person.optional(), 'person', 'only those to or from one person, by number or user id'),
      state: option(oneOf(STATES).optional(), 'state', `one of ${STATES.join(', ')}`),
      direction: option(oneOf(['outbound', 'inbound']).optional(), 'direction', 'one of outbound, inbound'),
      since: option(instant.optional(), 'time', 'only those accepted at or after this time'),
      until: option(instant.optional(), 'time', 'only those accepted at or before this time'),
      limit: option(
        z.coerce.number().int().min(1).max(1_000).default(DEFAULT_LIMIT),
        'n',
        `at most so many, up to 1000 (${DEFAULT_LIMIT})`,
      ),
      cursor: option(nameUpTo(100).optional(), 'cursor', 'go on where an earlier list ended, with its `next`'),
    },
    async run({ account, sender, campaign, since, until, limit, cursor, with: name, ...same }, { redis, config }) {
      const after = cursor === undefined ? undefined : readCursor(account ?? 0, cursor)
      if (cursor !== undefined && after === undefined) {
        throw new CliFailure('--cursor: expected what an earlier list of the same account had as next.', 2)
      }
      const ours = campaign === undefined ? undefined : parseCampaignId(campaign)
      if (ours && !(await findCampaign(redis, ours))) throw noCampaign(ours)
      const all = await listRetainedSenders(redis, account)
      const senders = sender === undefined ? all : sendersNamed(all, sender)
      if (sender !== undefined && senders.length === 0) throw noSender(sender)
      const filter: Search['filter'] = {
        ...same,
        ...(name !== undefined && { names: await allNamesOf(redis, senders, name) }),
        ...(ours && campaign !== undefined ? { campaign: { ...ours, id: campaign } } : { campaignId: campaign }),
        sinceMs: since,
        untilMs: until,
      }
      const found = await fill(redis, { senders, filter, limit, after, nowMs: Date.now(), lists: config })
      const next = found.next ? writeCursor(account ?? 0, found.next) : null
      const more = next === null ? '' : `\n\nMore: --cursor ${next}`
      const isNone = found.messages.length === 0
      const wanted = isNone && cursor === undefined && ours === undefined ? campaign : undefined
      const none = wanted === undefined ? 'No messages.' : await noneWithCampaignId(redis, account, wanted)
      return {
        json: { messages: found.messages, next },
        text: `${isNone ? none : tableOf(found.messages, COLUMNS)}${more}`,
      }
    },
  }),
  scheduledVerb,
  sendVerb,
  verb({
    usage: 'cancel <id>',
    act: 'message.cancel',
    summary: 'cancel a waiting message; it is never sent unless you requeue it',
    example: 'msg_1_01KAG3V0Z4Q8N6T2R9X5C7B1MD',
    values: { id: z.string() },
    async run({ id: text }, context) {
      const { redis, config } = context
      const id = parseMessageId(text)
      const result = id && (await cancelWherever({ redis, queues: await laneQueues(context), config }, id))
      if (id === undefined || result === undefined || result.verdict === 'missing') throw noMessage(text)
      if (result.verdict === 'ignored') {
        throw new CliFailure(`The message is ${result.state}; only one that is queued can be cancelled.`)
      }
      const account = (await findSender(redis, id.lane))?.account ?? NO_ACCOUNT
      return { json: { id: text, state: 'cancelled' }, text: `Cancelled ${text}.`, acted: { account, target: text } }
    },
  }),
  verb({
    usage: 'read <id>',
    summary: 'mark a received message as read at WhatsApp; give the id of WhatsApp',
    example: 'wamid.HBgMNDQ3NzAwOTAwMTIzFQIAEhgUM0E5 --typing',
    values: { id: z.string(), typing: flag('the person sees that an answer is being written') },
    // It takes a while to load.
    run: async (values, context) => (await import('./mark-read.ts')).markRead(values, context),
  }),
  verb({
    usage: 'requeue [id]',
    act: 'messages.requeue',
    summary:
      'send messages again that failed, expired, were cancelled or are unknown: one by id, or all that match a filter',
    example: '--state failed --code 131053 --since 2026-03-01T00:00:00Z --dry-run',
    values: requeueValues,
    // It takes a while to load.
    run: async (values, context) => (await import('./requeue.ts')).requeue(values, context),
  }),
]

/** All names of the person in the accounts of these senders. */
async function allNamesOf(redis: Redis, senders: readonly Sender[], person: string): Promise<string[]> {
  const accounts = [...new Set(senders.map(({ account }) => account))]
  const names = await Promise.all(accounts.map((account) => namesOf(redis, account, person)))
  return [...new Set([person, ...names.flat()])]
}

const noMessage = (id: string) => new CliFailure(`There is no message ${id}, or it is older than the retention.`)

/** Looks on until there are as many as wanted: nobody at a terminal wants to see a page of a search without hits. */
async function fill(redis: Redis, search: Search): Promise<{ messages: ListedMessage[]; next: Cursor | undefined }> {
  const messages: ListedMessage[] = []
  let { after } = search
  for (;;) {
    const page = await findMessages(redis, { ...search, after, limit: search.limit - messages.length })
    messages.push(...page.messages)
    if (page.next === undefined || messages.length === search.limit) return { messages, next: page.next }
    after = page.next
  }
}

async function showSent(redis: Redis, id: MessageId, lists: ListSettings): Promise<Answer | undefined> {
  const [message, sender] = await Promise.all([findMessage(redis, id, Date.now(), lists), findSender(redis, id.lane)])
  if (message === undefined) return undefined
  const document = await sentDocument(redis, message, sender)
  const { problem, waits, possible_duplicate } = document
  const group = message.campaign ?? message.groupedAs
  return {
    json: { ...document, account: sender?.account ?? null },
    text: `${keyValueTable([
      ['Message', document.id],
      ['From', sender === undefined ? `sender ${id.lane}, which is gone` : shownSender(sender)],
      ['To', message.to],
      ['Kind', `${message.type}, ${message.class}${group === undefined ? '' : `, campaign ${group}`}`],
      ['Reference', message.reference ?? ''],
      ['Text', message.text],
      ['State', message.state + (possible_duplicate ? ', possible duplicate' : '')],
      ['Waits', waits?.sentence ?? ''],
      ['Problem', problem ? `${problem.sentence} [${problem.code}]` : ''],
      ['Capped until', problem?.capped_until ?? ''],
      ['Held since', document.held_since ?? ''],
      ['WhatsApp calls it', document.message_status ?? ''],
      ['Price', document.pricing ? wordsOfPricing(document.pricing) : ''],
      ['Provider id', document.provider_id ?? ''],
      ['Not before', document.send_at ?? ''],
      ['Valid until', document.valid_until],
    ])}\n\n${table(
      ['WHEN', 'AFTER', 'WHAT', 'DETAIL'],
      historyOf(message).map(({ atMs, what, detail }) => [
        iso(atMs),
        elapsed(atMs - message.acceptedAtMs),
        what,
        detail,
      ]),
    )}`,
  }
}

/** Received messages are filed under their account, which WhatsApp's id does not contain. */
async function showReceived(redis: Redis, id: string): Promise<Answer | undefined> {
  for (const account of await keptAccounts(redis)) {
    const message = await archiveOf(redis).find({ account, id })
    if (message !== undefined) return received(message, account, await findSender(redis, message.lane))
  }
  return undefined
}

const received = (message: InboundMessage, account: number, sender: Sender | undefined): Answer => ({
  json: { ...receivedDocument(message, sender), account },
  text: keyValueTable([
    ['Message', message.id],
    ['From', message.from],
    ['To', sender === undefined ? `sender ${message.lane}, which is gone` : shownSender(sender)],
    ['Kind', `${message.type}, received`],
    ['Text', message.text],
    ...wordsOfParts(message.parts),
    ['Received', iso(message.received_at)],
  ]),
})

const shownSender = (sender: Sender): string => sender.number + (sender.name === '' ? '' : ` (${sender.name})`)

/** `+0.092 s`: what one looks for in a history is how long each step took. */
const elapsed = (ms: number): string => `+${(ms / 1_000).toFixed(3)} s`
