// messages: show, list, send, cancel, requeue. One message and everything that happened to it.
import type { Writable } from 'node:stream'
import { z } from 'zod'
import { cutText } from '../kernel/cut-text.ts'
import { counted } from '../kernel/fault.ts'
import { listedMessageSchema, messageSchema } from '../messages/lookup/message-schema.ts'
import { wordsOfPricing } from '../model/messages/pricing-words.ts'
import { wordsOfParts } from '../model/messages/received-words.ts'
import { messages, requeueCounts, scheduledSchema } from '../producer/api/messages/routes.ts'
import { sending } from '../producer/api/sending/routes.ts'
import { CliFailure } from './failure.ts'
import type { Followed } from './follow.ts'
import { clockTime, keyValueTable, table } from './print.ts'
import { type RouteVerb, routeVerb } from './route-verb.ts'
import { noneOfCampaign } from './unknown-campaign.ts'

const ID = 'msg_1_01M7WMMBQHKTZHMT677YAAW3FV'
const OF_WHATSAPP = 'wamid.HBgMNDQ3NzAwOTAwMTIzFQIAEhgUM0E5'

/** Characters of a text that a line has room for. */
const TEXT_SHOWN = 40
const shortened = (text: string): string => (text.length > TEXT_SHOWN ? `${cutText(text, TEXT_SHOWN - 1)}…` : text)

type Listed = z.output<typeof listedMessageSchema>

/** A column of a message in a list. */
const cell = (show: (message: Listed) => string) => (row: unknown) => show(listedMessageSchema.parse(row))

const personOf = (message: Listed): string => (message.direction === 'inbound' ? message.from : message.to)

type Scheduled = z.output<typeof scheduledSchema>

const later = (show: (entry: Scheduled) => string | null) => (row: unknown) => show(scheduledSchema.parse(row)) ?? ''

const peopleOf = (count: number | undefined): string => (count === 1 ? '1 person' : `${count ?? 'several'} people`)

/** What is typed of a message, in place of its JSON. */
const typedMessage = z.object({
  to: z.string().optional().describe('Recipient, in any spelling.'),
  text: z.string().optional().describe('What it says.'),
  sender: z.string().optional().describe('Its sender, by number or name; the default one if not given.'),
  reference: z.string().optional().describe('A text of your own, such as an order number.'),
  send_at: z.iso.datetime().optional().describe('Not before this time.'),
})

/** What is typed besides a file counts before what the file says. */
function messageOf({ text, ...others }: Record<string, unknown>, file: Record<string, unknown> | undefined) {
  if ((text === undefined) === (file === undefined)) {
    throw new CliFailure('--text: give either a text or a body.', 2)
  }
  return { ...(file ?? { type: 'text', text: { body: text } }), ...others }
}

/** The answer of a requeue: a job, or what would be requeued, or one message that waits again. */
const requeued = z.looseObject({ job_id: z.string(), state: z.string().default('waiting') })
const done = requeued.extend(requeueCounts)
const figure = z.number().default(0)
const matching = z.looseObject({
  ...{ matched: z.number(), without_content: figure, campaign_over: figure, skipped_capped: figure, failed: figure },
})
const one = z.looseObject({ id: z.string() })

const followsJob: Followed = {
  by: messages.job,
  params: (first) => ({ id: requeued.parse(first).job_id }),
  // One message, or a dry run, is over at once.
  isOver: (data) => ['done', 'failed'].includes(requeued.safeParse(data).data?.state ?? 'done'),
  isQueued: true,
  watch: (stderr) => sayProgress(stderr),
}

const SAY_EVERY_MS = 2_000

function sayProgress(stderr: Writable): { show(data: unknown): void; stop(): void } {
  let saidAt = performance.now()
  return {
    show(data) {
      const { data: job } = done.safeParse(data)
      if (job === undefined || performance.now() - saidAt < SAY_EVERY_MS) return
      saidAt = performance.now()
      stderr.write(`Requeued ${job.requeued} of ${counted(job.matched, 'matching message')} so far.\n`)
    },
    stop: () => undefined,
  }
}

export const verbs: readonly RouteVerb[] = [
  routeVerb('messages', 'show', messages.show, {
    summary: 'show a message, why it waits, and its history; for a received message give the id of WhatsApp',
    text: (data) => messageText(messageSchema.parse(data)),
    example: ID,
  }),
  routeVerb('messages', 'list', messages.list, {
    summary: 'list messages, the newest first, by any filter',
    columns: ['id', 'accepted_at', 'state', 'sender', 'person', 'kind', 'problem', 'text'],
    cells: {
      accepted_at: cell(({ accepted_at: at }) => clockTime(at)),
      state: cell((message) => (message.direction === 'inbound' ? 'received' : message.state)),
      person: cell(personOf),
      problem: cell(({ problem }) => problem?.code ?? ''),
      text: cell(({ text }) => shortened(text)),
    },
    field: campaignOrGroup,
    hint: noneOfCampaign,
    none: 'No messages.',
    pages: 100,
    example: '--to +14155550123 --state failed --since 2026-03-01T00:00:00Z',
  }),
  routeVerb('messages', 'scheduled', messages.scheduled, {
    columns: ['at', 'what', 'sender', 'to', 'name'],
    cells: {
      at: later(({ at }) => clockTime(at)),
      what: later((entry) => (entry.kind === 'message' ? entry.message.id : entry.campaign.id)),
      sender: later((entry) => (entry.kind === 'message' ? entry.message.sender : entry.campaign.sender)),
      to: later((entry) =>
        entry.kind === 'message' ? entry.message.to : peopleOf(entry.campaign.preflight?.recipients),
      ),
      name: later((entry) => (entry.kind === 'message' ? entry.message.kind : entry.campaign.name)),
    },
    ahead: ['since', 'until'],
    none: 'Nothing is to leave later.',
    example: '--account 1 --since tomorrow --until +7d',
  }),
  routeVerb('sending', 'message', sending.message, {
    verb: 'send',
    summary: 'send a text, or a message of any kind, or many, from a file with the JSON of POST /messages',
    typed: { schema: typedMessage, body: messageOf },
    text: (data) => `Queued ${one.parse(data).id}; see \`messages show ${one.parse(data).id}\`.`,
    example: '--account 1 --to +447700900123 --text "Your order is on its way."',
  }),
  routeVerb('messages', 'cancel', messages.cancel, {
    summary: 'cancel a waiting message; it is never sent unless you requeue it',
    text: (data) => `Cancelled ${one.parse(data).id}.`,
    example: ID,
  }),
  routeVerb('messages', 'read', messages.read, {
    summary: 'mark a received message as read at WhatsApp; give the id of WhatsApp',
    example: `${OF_WHATSAPP} --typing`,
  }),
  routeVerb('messages', 'requeueMany', messages.requeueMany, {
    verb: 'requeue',
    summary:
      'send messages again that failed, expired, were cancelled or are unknown: one by id, or all that match a filter',
    orOne: { word: 'id', spec: messages.requeue },
    field: campaignOrGroup,
    hint: noneOfCampaign,
    across: {
      sentence: (accounts) => `This requeues messages of ${accounts.length} accounts (${accounts.join(', ')})`,
      declined: 'Nothing was requeued.',
      otherwise: 'Name one with --account, or confirm with --yes.',
      spared: 'before messages of several accounts are sent again',
    },
    follows: followsJob,
    text: requeueText,
    fails(data) {
      const { data: job } = requeued.safeParse(data)
      return job?.state === 'failed' ? `The job ${job.job_id} failed; see the log of the worker.` : undefined
    },
    example: '--state failed --code 131053 --since 2026-03-01T00:00:00Z --dry-run',
  }),
]

/** What is no id of a campaign is the text that requests group by. */
function campaignOrGroup(name: string, text: string): string {
  return name === 'campaign' && !text.startsWith('cmp_') ? 'campaign_id' : name
}

function requeueText(data: unknown): string {
  const { data: job } = requeued.safeParse(data)
  if (job?.state === 'done') {
    const counts = done.parse(data)
    return `Requeued ${counts.requeued} of ${counted(counts.matched, 'matching message')}.${left(counts)}`
  }
  if (job !== undefined) return job.state === 'failed' ? '' : `A worker does it as the job ${job.job_id}.`
  const { data: counts } = matching.safeParse(data)
  if (counts === undefined) return `Requeued ${one.parse(data).id}.`
  const verb = counts.matched === 1 ? 'matches' : 'match'
  return `${counted(counts.matched, 'message')} ${verb}; nothing was changed.${left(counts)}`
}

/** What cannot be sent again, and why. */
function left({ without_content, campaign_over, skipped_capped, failed }: z.output<typeof matching>): string {
  const cannot = (count: number, why: string): string =>
    count === 0 ? '' : ` ${count} of them cannot be sent again: ${why}.`
  return (
    cannot(without_content, 'the content is no longer stored') +
    cannot(campaign_over, 'the campaign is cancelled or no longer stored') +
    cannot(skipped_capped, 'the person has had enough marketing for now') +
    cannot(failed, 'the record cannot be read')
  )
}

function messageText(message: z.output<typeof messageSchema>): string {
  const sender = message.sender ?? 'a sender that is gone'
  if (message.direction === 'inbound') {
    return keyValueTable([
      ['Message', message.id],
      ['From', message.from],
      ['To', sender],
      ['Kind', `${message.kind}, received`],
      ['Text', message.text],
      ...wordsOfParts(message),
      ['Received', message.accepted_at],
    ])
  }
  const { problem, waits, campaign, campaign_id: group } = message
  const of = campaign ?? group
  const facts = keyValueTable([
    ['Message', message.id],
    ['From', sender],
    ['To', message.to],
    ['Kind', `${message.kind}, ${message.class}${of === null ? '' : `, campaign ${of}`}`],
    ['Reference', message.reference ?? ''],
    ['Text', message.text],
    ['State', message.state + (message.possible_duplicate ? ', possible duplicate' : '')],
    ['Waits', waits?.sentence ?? ''],
    ['Problem', problem ? `${problem.sentence} [${problem.code}]` : ''],
    ['Capped until', problem?.capped_until ?? ''],
    ['Held since', message.held_since ?? ''],
    ['WhatsApp calls it', message.message_status ?? ''],
    ['Price', message.pricing ? wordsOfPricing(message.pricing) : ''],
    ['Provider id', message.provider_id ?? ''],
    ['Not before', message.send_at ?? ''],
    ['Valid until', message.valid_until],
  ])
  const acceptedAtMs = Date.parse(message.accepted_at)
  const events = message.history.map(({ at, event, attempt, detail }) => [
    at,
    elapsed(Date.parse(at) - acceptedAtMs),
    event,
    attempt ?? detail ?? '',
  ])
  return `${facts}\n\n${table(['WHEN', 'AFTER', 'WHAT', 'DETAIL'], events)}`
}

/** `+0.092 s`: what one looks for in a history is how long each step took. */
const elapsed = (ms: number): string => `+${(ms / 1_000).toFixed(3)} s`
