// messages: show, requeue. One message and everything that happened to it.
import { z } from 'zod'
import { type MessageId, messageId, parseMessageId } from '../messages/message-id.ts'
import { type Happening, readStory } from '../messages/story.ts'
import { listAccounts } from '../store/accounts.ts'
import { findInbound, type InboundMessage } from '../store/inbound.ts'
import { type FoundMessage, findMessage } from '../store/lookup.ts'
import type { Redis } from '../store/redis.ts'
import { findSender, type Sender } from '../store/senders.ts'
import { CliFailure } from './failure.ts'
import { requeueVerb } from './requeue.ts'
import { facts, table } from './table.ts'
import { type Answer, type Noun, verb } from './verb.ts'

export const messages: Noun = {
  name: 'messages',
  summary: 'what became of messages',
  verbs: [
    verb({
      usage: 'show <id>',
      summary: 'show a message with its history; a received one by the id of the chat product',
      example: 'msg_1_01KAG3V0Z4Q8N6T2R9X5C7B1MD',
      options: {},
      values: z.strictObject({ id: z.string() }),
      async run({ id }, { redis }) {
        const sent = parseMessageId(id)
        const answer = sent ? await showSent(redis, sent) : await showReceived(redis, id)
        if (answer === undefined) throw new CliFailure(`There is no message ${id}, or it is older than the retention.`)
        return answer
      },
    }),
    requeueVerb,
  ],
}

async function showSent(redis: Redis, id: MessageId): Promise<Answer | undefined> {
  const [message, sender] = await Promise.all([findMessage(redis, id, Date.now()), findSender(redis, id.lane)])
  if (message === undefined) return undefined
  const story = storyOf(message)
  return {
    json: sentDocument(message, sender, story),
    text: `${facts([
      ['Message', messageId(id.lane, id.ulid)],
      ['From', sender === undefined ? `sender ${id.lane}, which is gone` : nameOf(sender)],
      ['To', message.to],
      ['Kind', `${message.type}, ${message.class}${message.campaign ? `, campaign ${message.campaign}` : ''}`],
      ['Text', message.text],
      ['State', message.state + (isPossibleDuplicate(message) ? ', possible duplicate' : '')],
      ['Problem', message.problem ? `${message.problem.sentence} [${message.problem.code}]` : ''],
      ['Provider id', message.record?.providerId ?? ''],
      ['Valid until', iso(message.validUntil)],
    ])}\n\n${table(
      ['WHEN', 'AFTER', 'WHAT', 'DETAIL'],
      story.map(({ atMs, what, detail }) => [iso(atMs), elapsed(atMs - message.acceptedAtMs), what, detail]),
    )}`,
  }
}

type Moment = Pick<Happening, 'atMs' | 'detail'> & { what: string }

/** What happened, oldest first. Acceptance is told by the id; a record knows only what followed. */
function storyOf(message: FoundMessage): Moment[] {
  const accepted = { what: 'accepted', atMs: message.acceptedAtMs, detail: '' }
  return [accepted, ...readStory(message.record?.history ?? '', message.acceptedAtMs)]
}

const isPossibleDuplicate = (message: FoundMessage): boolean => (message.record?.repeats ?? 0) > 0

function sentDocument(message: FoundMessage, sender: Sender | undefined, story: readonly Moment[]) {
  return {
    id: messageId(message.id.lane, message.id.ulid),
    direction: 'outbound',
    account: sender?.account ?? null,
    sender: sender?.number ?? null,
    to: message.to,
    type: message.type,
    class: message.class,
    campaign_id: message.campaign ?? null,
    text: message.text,
    state: message.state,
    possible_duplicate: isPossibleDuplicate(message),
    problem: message.problem ? { code: message.problem.code, message: message.problem.sentence } : null,
    provider_id: message.record?.providerId ?? null,
    tries: message.record?.tries ?? 0,
    accepted_at: iso(message.acceptedAtMs),
    sent_at: message.sentAtMs === undefined ? null : iso(message.sentAtMs),
    valid_until: iso(message.validUntil),
    history: story.map(({ atMs, what, detail }) => ({ at: iso(atMs), what, detail: detail || null })),
  }
}

/** Received messages are filed under their account, which the chat product's id does not tell. */
async function showReceived(redis: Redis, id: string): Promise<Answer | undefined> {
  for (const account of await listAccounts(redis)) {
    const message = await findInbound(redis, account.id, id)
    if (message !== undefined) return received(message, account.id, await findSender(redis, message.lane))
  }
  return undefined
}

function received(message: InboundMessage, account: number, sender: Sender | undefined): Answer {
  return {
    json: {
      id: message.id,
      direction: 'inbound',
      account,
      sender: sender?.number ?? null,
      from: message.from,
      type: message.type,
      text: message.text,
      received_at: iso(message.received_at),
    },
    text: facts([
      ['Message', message.id],
      ['From', message.from],
      ['To', sender === undefined ? `sender ${message.lane}, which is gone` : nameOf(sender)],
      ['Kind', `${message.type}, received`],
      ['Text', message.text],
      ['Received', iso(message.received_at)],
    ]),
  }
}

const nameOf = (sender: Sender): string => sender.number + (sender.name === '' ? '' : ` (${sender.name})`)

const iso = (ms: number): string => new Date(ms).toISOString()

/** `+0.092 s`: what one looks for in a story is how long each step took. */
const elapsed = (ms: number): string => `+${(ms / 1_000).toFixed(3)} s`
