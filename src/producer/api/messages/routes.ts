// Messages by their id, and sending again.
import { z } from 'zod'
import { messageClassSchema } from '../../../jobs/send.ts'
import { textUpTo } from '../../../messages/bounded.ts'
import { STATES } from '../../../messages/lifecycle.ts'
import { listedMessageSchema, messageSchema } from '../../../messages/lookup/message-schema.ts'
import { RECIPIENT_LENGTH_MAX } from '../../../messages/recipient.ts'
import { REQUEUE_STATES } from '../../../messages/requeue/filter.ts'
import { route } from '../../route.ts'
import { doneWith, listOf } from '../answers.ts'
import { idempotencyHeaders, noFields, pageFields } from '../fields.ts'
import { erasureSchema } from '../people/routes.ts'

const mayLook = { in: 'bearer', permission: 'messages:read', removedToo: true } as const
const maySend = { in: 'bearer', permission: 'messages:send' } as const
const params = z.object({ id: z.string() })
const count = z.int().nonnegative()

const time = z.iso
  .datetime({ offset: true, error: 'expected an ISO 8601 time with its zone, such as 2026-01-31T12:00:00Z' })
  .transform((text) => Date.parse(text))
const requeueBody = z.strictObject({
  sender: textUpTo(255).optional(),
  to: textUpTo(RECIPIENT_LENGTH_MAX).optional(),
  from: textUpTo(RECIPIENT_LENGTH_MAX).optional(),
  state: z.enum(REQUEUE_STATES).optional(),
  class: messageClassSchema.optional(),
  direction: z.enum(['outbound', 'inbound']).optional(),
  campaign: textUpTo(40).optional(),
  campaign_id: textUpTo(255).optional(),
  code: textUpTo(100).optional(),
  since: time.optional(),
  until: time.optional(),
  all: z.boolean().default(false),
  dry_run: z.boolean().default(false),
})

const listQuery = z.strictObject({
  sender: textUpTo(255).optional(),
  to: textUpTo(RECIPIENT_LENGTH_MAX).optional(),
  from: textUpTo(RECIPIENT_LENGTH_MAX).optional(),
  state: z.enum(STATES).optional(),
  class: messageClassSchema.optional(),
  direction: z.enum(['outbound', 'inbound']).optional(),
  campaign: textUpTo(40).optional(),
  campaign_id: textUpTo(255).optional(),
  code: textUpTo(100).optional(),
  since: time.optional(),
  until: time.optional(),
  limit: pageFields.limit,
  cursor: textUpTo(100).optional(),
})

/** Those that match and cannot be sent again: without content, of a campaign that is over, with an unreadable record. */
const blocked = { without_content: count, campaign_over: count, failed: count }

const jobSchema = z.strictObject({
  job_id: z.string(),
  state: z.enum(['waiting', 'running', 'done', 'failed']),
  matched: count,
  requeued: count,
  ...blocked,
  created_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
})
jobSchema.register(z.globalRegistry, { id: 'RequeueJob' })

const id = 'msg_1_01M7WMMBQHKTZHMT677YAAW3FV'
const message = {
  id,
  direction: 'outbound',
  state: 'queued',
  possible_duplicate: false,
  class: 'transactional',
  kind: 'image',
  sender: '447700900001',
  to: '447700900123',
  text: 'https://shop.example/spring.png',
  campaign_id: null,
  campaign: null,
  provider_id: null,
  accepted_at: '2026-11-21T10:00:00.000Z',
  send_at: null,
  valid_until: '2026-11-22T10:00:00.000Z',
  problem: null,
  waits: { why: 'lane_paused', until: null, sentence: 'Its sender is paused: by hand.' },
  history: [{ at: '2026-11-21T10:00:00.000Z', event: 'accepted', attempt: null, detail: null }],
}

const { waits: _waits, history: _history, ...listed } = message

export const messages = {
  list: route({
    method: 'get',
    path: '/messages',
    summary: 'Lists messages that match a filter, the newest first, a page at a time.',
    access: mayLook,
    query: listQuery,
    body: { as: 'ignored' },
    answers: { 200: listOf(listedMessageSchema) },
    errors: { 400: ['unknown_sender'] },
    examples: [
      {
        query: { to: '+447700900123', limit: '1' },
        status: 200,
        answer: { status: true, data: [listed], next: 'AAAAAAABAAAAAAABAZqlq0rRzKVt6cY2x0dRvg' },
      },
    ],
  }),
  // Before those with an id, which its address would be taken for.
  requeueMany: route({
    method: 'post',
    path: '/messages/requeue',
    summary: 'Requeues all messages that match a filter, as a job for a worker; with dry_run it only counts them.',
    access: maySend,
    act: 'messages.requeue',
    headers: idempotencyHeaders,
    body: { as: 'json', schema: requeueBody },
    answers: {
      200: doneWith(z.strictObject({ matched: count, ...blocked })),
      202: doneWith(z.strictObject({ job_id: z.string(), status_url: z.string() })),
    },
    errors: {
      400: ['unknown_sender'],
      422: ['idempotency_key_reused'],
      429: ['too_many_requeues'],
    },
    examples: [
      {
        body: { state: 'failed', since: '2026-11-21T00:00:00Z', dry_run: true },
        status: 200,
        answer: {
          status: true,
          message: 'nothing was changed',
          data: { matched: 3, without_content: 1, campaign_over: 0, failed: 0 },
        },
      },
      {
        body: { code: '131026' },
        status: 202,
        answer: {
          status: true,
          message: 'queued',
          data: {
            job_id: 'rq_01M7WMMBQHKTZHMT677YAAW3FV',
            status_url: 'http://127.0.0.1:3000/jobs/rq_01M7WMMBQHKTZHMT677YAAW3FV',
          },
        },
      },
    ],
  }),
  job: route({
    method: 'get',
    path: '/jobs/:id',
    summary: 'Tells how far a requeue or an erasure is.',
    details: 'An erasure is shown only to a key that may ask for one, with the permission `admin`.',
    access: { ...maySend, also: ['admin'], removedToo: true },
    params,
    body: { as: 'ignored' },
    answers: { 200: doneWith(z.union([jobSchema, erasureSchema])) },
    errors: { 404: ['not_found'] },
    examples: [
      {
        params: { id: 'rq_01M7WMMBQHKTZHMT677YAAW3FV' },
        status: 200,
        answer: {
          status: true,
          message: 'done',
          data: {
            job_id: 'rq_01M7WMMBQHKTZHMT677YAAW3FV',
            state: 'done',
            matched: 3,
            requeued: 2,
            without_content: 1,
            campaign_over: 0,
            failed: 0,
            created_at: '2026-11-21T10:00:00.000Z',
            ended_at: '2026-11-21T10:00:01.000Z',
          },
        },
      },
    ],
  }),
  show: route({
    method: 'get',
    path: '/messages/:id',
    summary: 'Tells where a message is, why it waits, and all that happened to it.',
    access: mayLook,
    forSenders: true,
    params,
    body: { as: 'ignored' },
    answers: { 200: doneWith(messageSchema) },
    errors: { 404: ['not_found'] },
    examples: [{ params: { id }, status: 200, answer: { status: true, message: 'message', data: message } }],
  }),
  media: route({
    method: 'get',
    path: '/messages/:id/media',
    summary: 'Fetches the file of a received message from WhatsApp.',
    details:
      'As it comes, of up to 100 MB, to be saved and never shown inline. WhatsApp keeps it for some days, then ' +
      'the answer is 410. The length may be missing; a file that ends too early ends the connection.',
    access: mayLook,
    forSenders: true,
    params,
    body: { as: 'ignored' },
    answers: { 200: { contentTypes: ['*'] } },
    errors: { 404: ['not_found'], 410: ['media_gone'], 502: ['media_unavailable'], 503: ['overloaded'] },
    examples: [{ params: { id: 'wamid.HBgMNDQ3NzAwOTAwMTIzFQIAEhgUM0E5' }, status: 200 }],
  }),
  cancel: route({
    method: 'post',
    path: '/messages/:id/cancel',
    summary: 'Cancels a message that is queued: it is never sent, unless it is requeued.',
    access: maySend,
    forSenders: true,
    act: 'message.cancel',
    params,
    body: { as: 'json', schema: noFields, mayBeAbsent: true },
    answers: { 200: doneWith(messageSchema) },
    errors: { 404: ['not_found'], 409: ['wrong_state'] },
    examples: [
      {
        params: { id },
        status: 200,
        answer: { status: true, message: 'cancelled', data: { ...message, state: 'cancelled', waits: null } },
      },
    ],
  }),
  requeue: route({
    method: 'post',
    path: '/messages/:id/requeue',
    summary: 'Requeues a message that is failed, unknown, expired or cancelled.',
    access: maySend,
    forSenders: true,
    act: 'message.requeue',
    params,
    body: { as: 'json', schema: noFields, mayBeAbsent: true },
    answers: { 200: doneWith(messageSchema) },
    errors: { 404: ['not_found'], 409: ['wrong_state', 'without_content', 'campaign_over', 'sender_removed'] },
    examples: [{ params: { id }, status: 200, answer: { status: true, message: 'queued again', data: message } }],
  }),
}
