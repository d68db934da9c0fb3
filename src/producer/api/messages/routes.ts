// Messages: listed, shown, cancelled, and requeued one by one or many at a time; and the lookups of the older interface.
import { z } from 'zod'
import { campaignDocumentSchema } from '../../../campaigns/commands/campaign-document.ts'
import { textUpTo } from '../../../kernel/bounded.ts'
import { RECIPIENT_LENGTH_MAX } from '../../../kernel/recipient.ts'
import {
  deliverySchema,
  listedMessageSchema,
  listedSentSchema,
  messageSchema,
} from '../../../messages/lookup/message-schema.ts'
import { REQUEUE_STATES } from '../../../messages/requeue/filter.ts'
import { messageClassSchema } from '../../../model/messages/content.ts'
import { STATES } from '../../../model/messages/lifecycle.ts'
import { LIMITS } from '../../../model/messages/limits.ts'
import { doneWith, named, one, page, queuedJob } from '../answers.ts'
import { orNothing, routesOf } from '../define.ts'
import { count, pageFields, timeField } from '../fields.ts'
import { erasureSchema } from '../people/routes.ts'

const params = z.object({ id: z.string() })
const shared = { params, shown: { id: 'msg_1_01M7WMMBQHKTZHMT677YAAW3FV' } }
const read = { in: 'bearer', permission: 'messages:read', removedToo: true, withoutAccount: true } as const
const look = routesOf({ ...shared, access: read })
const send = routesOf({ ...shared, access: { in: 'bearer', permission: 'messages:send', withoutAccount: true } })

/** A filter of messages in these states, with `more` fields. */
const filterOf = <const S extends readonly [string, ...string[]], const M extends z.ZodRawShape>(states: S, more: M) =>
  z.strictObject({
    sender: textUpTo(255).optional().describe('Only those of one sender, by its number, name or id.'),
    to: textUpTo(RECIPIENT_LENGTH_MAX).optional().describe('Only those to one person, by number or id.'),
    from: textUpTo(RECIPIENT_LENGTH_MAX).optional().describe('Only those received from one person, by number or id.'),
    state: z.enum(states).optional(),
    class: messageClassSchema.optional(),
    direction: z.enum(['outbound', 'inbound']).optional(),
    campaign: textUpTo(40).optional().describe('Only those of one campaign, by its id.'),
    campaign_id: textUpTo(LIMITS.campaignId).optional().describe('Only those with this grouping text.'),
    reference: textUpTo(LIMITS.reference).optional().describe('Only those with this text of your own.'),
    code: textUpTo(100).optional().describe('Only those with this problem code.'),
    since: timeField.optional(),
    until: timeField.optional(),
    ...more,
  })
const listQuery = filterOf(STATES, {
  with: textUpTo(RECIPIENT_LENGTH_MAX).optional().describe('Only those to or from one person, by number or id.'),
  limit: pageFields.limit,
  cursor: textUpTo(100).optional(),
})
const requeueBody = filterOf(REQUEUE_STATES, {
  all: z.boolean().default(false),
  dry_run: z.boolean().default(false),
}).refine(({ all, dry_run: _dry, ...filter }) => all || Object.values(filter).some((each) => each !== undefined), {
  path: ['all'],
  error: 'give at least one filter, or true to requeue all that failed, is unknown, expired or was cancelled',
  // A misspelt filter is told alone.
  when: ({ issues }) => issues.length === 0,
})

const scheduledQuery = z.strictObject({
  sender: textUpTo(255).optional().describe('Only what leaves from one sender, by its number, name or id.'),
  since: timeField.optional().describe('Only what leaves at or after this time.'),
  until: timeField.optional().describe('Only what leaves before this time.'),
  limit: pageFields.limit,
  cursor: textUpTo(100).optional(),
})
const at = z.iso.datetime().describe('When it is to leave.')
export const scheduledSchema = z.discriminatedUnion('kind', [
  named('ScheduledMessage', { kind: z.literal('message'), at, message: listedSentSchema }),
  named('ScheduledCampaign', { kind: z.literal('campaign'), at, campaign: campaignDocumentSchema }),
])

/** Matching messages that cannot be sent again: without content, of a campaign that is over, with an unreadable record. */
const blocked = {
  without_content: count,
  campaign_over: count,
  skipped_capped: count.describe('Marketing to people who have had enough of it for now.'),
  failed: count,
}

/** The counts of a requeue, whether it was done or only tried. */
export const requeueCounts = { matched: count, requeued: count.default(0), ...blocked }

const jobSchema = named('RequeueJob', {
  job_id: z.string(),
  state: z.enum(['waiting', 'running', 'done', 'failed']),
  matched: count,
  requeued: count,
  ...blocked,
  created_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
})

export const messages = {
  list: look.get('/messages', 'Lists messages that match a filter, the newest first, a page at a time.', {
    mcp: 'read',
    query: listQuery,
    answers: page(listedMessageSchema),
    errors: { 400: ['unknown_sender'] },
    examples: [{ query: { to: '+447700900123', limit: '1' } }],
  }),
  scheduled: look.get('/scheduled', 'Lists scheduled messages and campaigns, the next first.', {
    mcp: 'read',
    details:
      'Messages with a `send_at` in the future, and scheduled campaigns. A page may be short and still have a cursor: messages ' +
      'that wait for another try are left out.',
    query: scheduledQuery,
    answers: page(scheduledSchema),
    errors: { 400: ['unknown_sender'] },
    examples: [{ query: { until: '2126-11-22T00:00:00Z', limit: '10' } }],
  }),
  // Before the routes with an id, which would take its address.
  requeueMany: send.post(
    '/messages/requeue',
    'Requeues all messages that match a filter, as a job; dry_run only counts them.',
    {
      // Of one account: nobody sends messages of all of them again by leaving out a header.
      access: { in: 'bearer', permission: 'messages:send' },
      act: 'messages.requeue',
      idempotent: true,
      body: requeueBody,
      answers: {
        200: doneWith(z.strictObject({ matched: count, ...blocked })),
        202: doneWith(queuedJob()),
      },
      errors: { 400: ['unknown_sender'], 429: ['too_many_requeues'] },
      examples: [
        { body: { state: 'failed', since: '2026-11-21T00:00:00Z', dry_run: true }, says: 'nothing was changed' },
        { body: { code: '131026' }, status: 202, says: 'queued' },
      ],
    },
  ),
  job: send.get('/jobs/:id', 'Shows the progress of a requeue or an erasure.', {
    details: 'An erasure is shown only to a key that may ask for one, with the permission `admin`.',
    access: { in: 'bearer', permission: 'messages:send', also: ['admin'], removedToo: true, withoutAccount: true },
    answers: one(z.union([jobSchema, erasureSchema])),
    examples: [{ params: { id: 'rq_01M7WMMBQHKTZHMT677YAAW3FV' }, says: 'done' }],
  }),
  show: look.get('/messages/:id', 'Shows where a message is, why it waits, and its history.', {
    mcp: 'read',
    forSenders: true,
    answers: one(messageSchema),
    examples: [{ says: 'message' }],
  }),
  media: look.get('/messages/:id/media', 'Fetches the file of a received message from WhatsApp.', {
    details:
      'Streamed, up to 100 MB, to be saved and never shown inline. WhatsApp keeps it for some days, then the ' +
      'answer is 410. The length may be missing; a file that ends too early ends the connection.',
    forSenders: true,
    answers: { 200: { contentTypes: ['*'] } },
    errors: { 410: ['media_gone'], 502: ['media_unavailable'], 503: ['overloaded'] },
    examples: [{ params: { id: 'wamid.HBgMNDQ3NzAwOTAwMTIzFQIAEhgUM0E5' } }],
  }),
  read: send.post('/messages/:id/read', 'Marks a received message as read at WhatsApp.', {
    details:
      'With `typing` the person also sees for up to 25 s that an answer is being written. Where it is marked already, ' +
      'nothing changes.',
    forSenders: true,
    body: orNothing(z.strictObject({ typing: z.boolean().default(false) })),
    errors: {
      400: ['not_supported_by_provider'],
      409: ['sender_removed'],
      502: ['not_marked_read'],
      503: ['overloaded'],
    },
    examples: [{ params: { id: 'wamid.HBgMNDQ3NzAwOTAwMTIzFQIAEhgUM0E5' }, body: { typing: true }, says: 'read' }],
  }),
  cancel: send.post(
    '/messages/:id/cancel',
    'Cancels a message that is queued: it is never sent, unless it is requeued.',
    {
      forSenders: true,
      act: 'message.cancel',
      answers: one(messageSchema),
      errors: { 409: ['wrong_state'] },
      examples: [{ says: 'cancelled' }],
    },
  ),
  requeue: send.post('/messages/:id/requeue', 'Requeues a message that is failed, unknown, expired or cancelled.', {
    forSenders: true,
    act: 'message.requeue',
    answers: one(messageSchema),
    errors: { 409: ['wrong_state', 'without_content', 'campaign_over', 'sender_removed', 'capped'] },
    examples: [{ says: 'queued again' }],
  }),
}

const lookup = routesOf({ access: { in: 'api_key', permission: 'messages:read' }, forSenders: true })
const asks = { as: 'json', schema: z.object({ message_id: z.string() }), unknown: 'named' } as const
const asked = { message_id: 'msg_1_01M7WMESZP60D32VY8E5FM00EP' }
const answers = <S extends z.ZodType>(message: S) => ({ 200: z.strictObject({ status: z.literal(true), message }) })

const infoSchema = named('MessageInfo', {
  message_id: z.string(),
  message_text: z.string(),
  message_type: z.string().describe('`type` of the request; of a received message WhatsApp’s own word.'),
  message_from: z.string().describe('Digits of the sender, or of the person who wrote.'),
  direction: z.enum(['outbound', 'inbound']),
  status: z.enum(['pending', 'success', 'failed', 'unknown']),
  timestamp: z.int().describe('Unix seconds.'),
})

/** The older interface to a message, sent or received. */
export const lookups = {
  info: lookup.post(
    '/chatappbusiness/fetchmessageinfo',
    'Shows what a message says, who wrote it, and whether it arrived.',
    {
      body: asks,
      answers: answers(z.strictObject({ data: infoSchema })),
      examples: [{ body: asked }],
    },
  ),
  delivery: lookup.post('/chatappbusiness/getmessgageinfobyid', 'Shows the delivery status of a message.', {
    body: asks,
    answers: answers(deliverySchema),
    examples: [{ body: asked }],
  }),
}
