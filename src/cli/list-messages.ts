// messages list: the messages that a person asks about, the newest first.
import { z } from 'zod'
import { listKeptSenders } from '../accounts/store/senders.ts'
import { parseCampaignId } from '../campaigns/campaign.ts'
import { sendersNamed } from '../messages/accept/named-senders.ts'
import { STATES } from '../messages/lifecycle.ts'
import { type Place, readCursor, writeCursor } from '../messages/lookup/entries.ts'
import { findMessages, type Search } from '../messages/lookup/find-messages.ts'
import type { ListedMessage } from '../messages/lookup/message-schema.ts'
import { parsePerson } from '../people/person.ts'
import type { Redis } from '../redis/connect.ts'
import { keptAccount } from './accounts.ts'
import { existing } from './campaigns/campaign-context.ts'
import { CliFailure } from './failure.ts'
import { noSender } from './sender-named.ts'
import { table } from './table.ts'
import { accountId, instant, nameUpTo, oneOf, parser, senderName } from './values.ts'
import { verb } from './verb.ts'

const DEFAULT_LIMIT = 100
const person = parser('a full international number such as +14155550123, or the id of a person', parsePerson)
/** Characters of a text that a line has room for. */
const TEXT_SHOWN = 40

export const listVerb = verb({
  usage: 'list',
  summary: 'list messages, the newest first, by any filter',
  example: '--to +14155550123 --state failed --since 2026-03-01T00:00:00Z',
  options: {
    '--account <id>': 'only those of one account',
    '--sender <sender>': 'only those of one sender, by its number, name or id',
    '--to <person>': 'only those to one recipient, by number or user id',
    '--from <person>': 'only those received from one person, by number or user id',
    '--state <state>': `one of ${STATES.join(', ')}`,
    '--class <class>': 'one of transactional, campaign',
    '--direction <direction>': 'one of outbound, inbound',
    '--campaign <id>': 'only those of one campaign (cmp_1_2), or with this campaign_id',
    '--code <code>': 'only those with this problem code',
    '--since <time>': 'only those accepted at or after this time',
    '--until <time>': 'only those accepted at or before this time',
    '--limit <n>': `at most so many, up to 1000 (${DEFAULT_LIMIT})`,
    '--cursor <cursor>': 'go on where an earlier list ended, with its `next`',
  },
  values: z.strictObject({
    account: accountId.optional(),
    sender: senderName.optional(),
    to: person.optional(),
    from: person.optional(),
    state: oneOf(STATES).optional(),
    class: oneOf(['transactional', 'campaign']).optional(),
    direction: oneOf(['outbound', 'inbound']).optional(),
    campaign: nameUpTo(255).optional(),
    code: nameUpTo(100).optional(),
    since: instant.optional(),
    until: instant.optional(),
    limit: z.coerce.number().int().min(1).max(1_000).default(DEFAULT_LIMIT),
    cursor: nameUpTo(100).optional(),
  }),
  async run({ account, sender, campaign, since, until, limit, cursor, ...same }, { redis, config }) {
    if (account !== undefined) await keptAccount(redis, account)
    const after = cursor === undefined ? undefined : readCursor(account ?? 0, cursor)
    if (cursor !== undefined && after === undefined) {
      throw new CliFailure('--cursor: expected what an earlier list of the same account had as next.', 2)
    }
    const ours = campaign === undefined ? undefined : parseCampaignId(campaign)
    if (ours) await existing(redis, ours)
    const all = await listKeptSenders(redis, account)
    const senders = sender === undefined ? all : sendersNamed(all, sender)
    if (sender !== undefined && senders.length === 0) throw noSender(sender)
    const filter: Search['filter'] = {
      ...same,
      ...(ours && campaign !== undefined ? { campaign: { ...ours, id: campaign } } : { campaignId: campaign }),
      sinceMs: since,
      untilMs: until,
    }
    const found = await fill(redis, { senders, filter, limit, after, nowMs: Date.now(), lists: config })
    const next = found.next ? writeCursor(account ?? 0, found.next) : null
    const more = next === null ? '' : `\n\nMore: --cursor ${next}`
    return {
      json: { messages: found.messages, next },
      text: found.messages.length === 0 ? `No messages.${more}` : `${tableOf(found.messages)}${more}`,
    }
  },
})

/** Looks on until there are as many as wanted: nobody at a terminal wants to see a page of a search without hits. */
async function fill(redis: Redis, search: Search): Promise<{ messages: ListedMessage[]; next: Place | undefined }> {
  const messages: ListedMessage[] = []
  let { after } = search
  for (;;) {
    const page = await findMessages(redis, { ...search, after, limit: search.limit - messages.length })
    messages.push(...page.messages)
    if (page.next === undefined || messages.length === search.limit) return { messages, next: page.next }
    after = page.next
  }
}

const tableOf = (messages: readonly ListedMessage[]): string =>
  table(
    ['ID', 'ACCEPTED', 'STATE', 'SENDER', 'PERSON', 'KIND', 'PROBLEM', 'TEXT'],
    messages.map((message) => [
      message.id,
      message.accepted_at.slice(0, 19).concat('Z'),
      message.direction === 'inbound' ? 'received' : message.state,
      message.sender ?? '',
      message.direction === 'inbound' ? message.from : message.to,
      message.kind,
      message.problem?.code ?? '',
      message.text.length > TEXT_SHOWN ? `${message.text.slice(0, TEXT_SHOWN - 1)}…` : message.text,
    ]),
  )
