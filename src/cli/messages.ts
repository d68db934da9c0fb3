// messages: show, list, cancel, requeue. One message and everything that happened to it.
import { z } from 'zod'
import { keptAccounts } from '../accounts/store/accounts.ts'
import { findSender, type Sender } from '../accounts/store/senders.ts'
import type { ListSettings } from '../campaigns/store/open-campaigns.ts'
import { findMessage } from '../messages/lookup/lookup.ts'
import { historyOf, iso, receivedDocument, sentDocument } from '../messages/lookup/message-document.ts'
import { type MessageId, parseMessageId } from '../messages/message-id.ts'
import { wordsOfParts } from '../messages/received-words.ts'
import { findInbound, type InboundMessage } from '../messages/store/inbound.ts'
import type { Redis } from '../redis/connect.ts'
import { cancelVerb } from './cancel.ts'
import { CliFailure } from './failure.ts'
import { listVerb } from './list-messages.ts'
import { requeueVerb } from './requeue.ts'
import { keyValueTable, table } from './table.ts'
import { type Answer, type Noun, verb } from './verb.ts'

export const messages: Noun = {
  name: 'messages',
  summary: 'list, look up, cancel and requeue messages',
  verbs: [
    verb({
      usage: 'show <id>',
      summary: 'show a message, why it waits, and its history; for a received message give the id of WhatsApp',
      example: 'msg_1_01KAG3V0Z4Q8N6T2R9X5C7B1MD',
      options: {},
      values: z.strictObject({ id: z.string() }),
      async run({ id }, { redis, config }) {
        const sent = parseMessageId(id)
        const answer = sent ? await showSent(redis, sent, config) : await showReceived(redis, id)
        if (answer === undefined) throw new CliFailure(`There is no message ${id}, or it is older than the retention.`)
        return answer
      },
    }),
    listVerb,
    cancelVerb,
    requeueVerb,
  ],
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
      ['From', sender === undefined ? `sender ${id.lane}, which is gone` : nameOf(sender)],
      ['To', message.to],
      ['Kind', `${message.type}, ${message.class}${group === undefined ? '' : `, campaign ${group}`}`],
      ['Text', message.text],
      ['State', message.state + (possible_duplicate ? ', possible duplicate' : '')],
      ['Waits', waits?.sentence ?? ''],
      ['Problem', problem ? `${problem.sentence} [${problem.code}]` : ''],
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

/** Received messages are filed under their account, which the chat product's id does not contain. */
async function showReceived(redis: Redis, id: string): Promise<Answer | undefined> {
  for (const account of await keptAccounts(redis)) {
    const message = await findInbound(redis, account, id)
    if (message !== undefined) return received(message, account, await findSender(redis, message.lane))
  }
  return undefined
}

const received = (message: InboundMessage, account: number, sender: Sender | undefined): Answer => ({
  json: { ...receivedDocument(message, sender), account },
  text: keyValueTable([
    ['Message', message.id],
    ['From', message.from],
    ['To', sender === undefined ? `sender ${message.lane}, which is gone` : nameOf(sender)],
    ['Kind', `${message.type}, received`],
    ['Text', message.text],
    ...wordsOfParts(message.parts),
    ['Received', iso(message.received_at)],
  ]),
})

const nameOf = (sender: Sender): string => sender.number + (sender.name === '' ? '' : ` (${sender.name})`)

/** `+0.092 s`: what one looks for in a history is how long each step took. */
const elapsed = (ms: number): string => `+${(ms / 1_000).toFixed(3)} s`
