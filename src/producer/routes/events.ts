// What happens, told: the feed that is pulled, and the endpoints that it is pushed to.
import { z } from 'zod'
import { attemptSchema, endpointChanges, endpointSchema, newEndpointFields } from '../../events/endpoint.ts'
import { eventSchema } from '../../events/event-schema.ts'
import { EVENT_TYPES, eventTypeSchema } from '../../events/event-types.ts'
import { textUpTo } from '../../messages/bounded-text.ts'
import { idempotencyHeaders, noFields, pageFields } from '../fields.ts'
import { route } from '../route.ts'
import { done, doneWith, listOf } from './answers.ts'

const access = { in: 'bearer', permission: 'events' } as const

/** Types separated by commas. */
const typesField = textUpTo(1_000)
  .transform((list) => list.split(',').map((type) => type.trim()))
  .pipe(z.array(eventTypeSchema).min(1))
  .meta({ type: 'string', description: `Types separated by commas, all unless given: ${EVENT_TYPES.join(', ')}.` })

const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true')

const feedQuery = z.strictObject({
  // A cursor names a place for each sender.
  after: textUpTo(8_000).optional().meta({ description: 'What an earlier answer had as next; else all that is kept.' }),
  types: typesField.optional(),
  limit: pageFields.limit,
  include_content: flag.meta({ description: 'Whether numbers and texts are told.' }),
})

const example = {
  type: 'message.delivered',
  timestamp: '2026-11-21T10:00:02.000Z',
  data: {
    event_id: 'evt_1_1795255202000_0_0',
    id: 'msg_1_01M7WMMBQHKTZHMT677YAAW3FV',
    seq: 4,
    state: 'delivered',
    possible_duplicate: false,
    class: 'transactional',
    kind: 'image',
    campaign_id: null,
    campaign: null,
    provider_id: null,
    accepted_at: '2026-11-21T10:00:00.000Z',
    problem: null,
    sender: '447700900001',
  },
}

const params = z.object({ id: z.string() })
const replayParams = z.object({ id: z.string(), replay: z.string() })
const missing = { 404: ['not_found'] } as const

const time = z.iso
  .datetime({ offset: true, error: 'expected an ISO 8601 time with its zone, such as 2026-01-31T12:00:00Z' })
  .transform((text) => Date.parse(text))

const replayBody = z
  .strictObject({
    since: time,
    until: time.optional(),
    types: z.array(eventTypeSchema).min(1).max(EVENT_TYPES.length).optional(),
    failed_only: z.boolean().default(false),
    dry_run: z.boolean().default(false),
  })
  .meta({ id: 'EventReplay' })

const replaySchema = z
  .strictObject({
    replay_id: z.string(),
    state: z.enum(['waiting', 'running', 'done']),
    delivered: z.int().nonnegative().describe('Events that were told again so far.'),
    created_at: z.iso.datetime(),
    ended_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'EventReplayProgress' })

const withSecret = z
  .strictObject({ ...endpointSchema.shape, secret: z.string().describe('Shown now and never again.') })
  .meta({ id: 'NewlyMadeEventEndpoint' })

const id = 'ep_5f0c2a7d9b1e4f6a8c'
const replay = 'rpl_01M7WMMBQHKTZHMT677YAAW3FV'
const shown = {
  id,
  url: 'https://shop.example/hooks/laneway',
  types: ['message.delivered', 'message.failed'],
  senders: [],
  include_content: false,
  batch: { max_events: 100, max_wait_ms: 1_000 },
  enabled: true,
  disabled_for: null,
  created_at: '2026-11-21T10:00:00.000Z',
  failing_since: null,
  last_success_at: null,
}
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='

export const events = {
  pull: route({
    method: 'get',
    path: '/events',
    summary: 'Tells what has happened since a cursor, in its order for each sender. The first request turns it on.',
    access,
    query: feedQuery,
    body: { as: 'ignored' },
    answers: {
      200: z.strictObject({
        status: z.literal(true),
        data: z.array(eventSchema),
        next: z.string().describe('What to give as `after` next time, also when nothing is new.'),
      }),
    },
    examples: [
      { query: { limit: '1' }, status: 200, answer: { status: true, data: [example], next: 'AQHg7ce0zjQAAQ' } },
    ],
  }),
  create: route({
    method: 'post',
    path: '/event-endpoints',
    summary:
      'Has an address told what happens from now on. The answer holds the secret that deliveries are signed with.',
    access,
    act: 'endpoint.create',
    headers: idempotencyHeaders,
    body: { as: 'json', schema: newEndpointFields },
    answers: { 201: doneWith(withSecret) },
    errors: { 400: ['unknown_sender'], 422: ['idempotency_key_reused', 'too_many_endpoints'] },
    examples: [
      {
        body: { url: shown.url, types: shown.types, batch: { max_events: 100 } },
        status: 201,
        answer: { status: true, message: 'created', data: { ...shown, secret } },
      },
    ],
  }),
  list: route({
    method: 'get',
    path: '/event-endpoints',
    summary: 'Lists the endpoints of the account.',
    access,
    query: z.strictObject({ limit: pageFields.limit, cursor: textUpTo(40).optional() }),
    body: { as: 'ignored' },
    answers: { 200: listOf(endpointSchema) },
    examples: [{ status: 200, answer: { status: true, data: [shown], next: null } }],
  }),
  show: route({
    method: 'get',
    path: '/event-endpoints/:id',
    summary: 'Shows an endpoint.',
    access,
    params,
    body: { as: 'ignored' },
    answers: { 200: doneWith(endpointSchema) },
    errors: missing,
    examples: [{ params: { id }, status: 200, answer: { status: true, message: 'endpoint', data: shown } }],
  }),
  change: route({
    method: 'patch',
    path: '/event-endpoints/:id',
    summary: 'Changes an endpoint. Enabled again, it goes on where it stopped.',
    access,
    act: 'endpoint.change',
    params,
    body: { as: 'json', schema: endpointChanges },
    answers: { 200: doneWith(endpointSchema) },
    errors: { ...missing, 400: ['unknown_sender'] },
    examples: [
      {
        params: { id },
        body: { enabled: false },
        status: 200,
        answer: { status: true, message: 'changed', data: { ...shown, enabled: false, disabled_for: 'by hand' } },
      },
    ],
  }),
  remove: route({
    method: 'delete',
    path: '/event-endpoints/:id',
    summary: 'Removes an endpoint, with what waits for it.',
    access,
    act: 'endpoint.remove',
    params,
    body: { as: 'ignored' },
    answers: { 200: done },
    errors: missing,
    examples: [{ params: { id }, status: 200, answer: { status: true, message: 'removed' } }],
  }),
  rotate: route({
    method: 'post',
    path: '/event-endpoints/:id/rotate-secret',
    summary: 'Gives the endpoint another secret. Deliveries are signed with the old one as well for 24 hours.',
    access,
    act: 'endpoint.rotate_secret',
    params,
    body: { as: 'json', schema: noFields, mayBeAbsent: true },
    answers: { 200: doneWith(z.strictObject({ secret: z.string() })) },
    errors: missing,
    examples: [
      { params: { id }, body: {}, status: 200, answer: { status: true, message: 'rotated', data: { secret } } },
    ],
  }),
  test: route({
    method: 'post',
    path: '/event-endpoints/:id/test',
    summary: 'Sends the endpoint an event of the type endpoint.test, once. Its attempts tell what it answered.',
    access,
    act: 'endpoint.test',
    params,
    body: { as: 'json', schema: noFields, mayBeAbsent: true },
    answers: { 202: doneWith(z.strictObject({ delivery: z.string() })) },
    errors: missing,
    examples: [
      {
        params: { id },
        body: {},
        status: 202,
        answer: { status: true, message: 'queued', data: { delivery: 'tst_01M7WMMBQHKTZHMT677YAAW3FV' } },
      },
    ],
  }),
  replay: route({
    method: 'post',
    path: '/event-endpoints/:id/replay',
    summary: 'Tells the endpoint again what happened within a time, as a job; with dry_run it only counts.',
    access,
    act: 'endpoint.replay',
    params,
    headers: idempotencyHeaders,
    body: { as: 'json', schema: replayBody },
    answers: {
      200: doneWith(z.strictObject({ matched: z.int(), complete: z.boolean().describe('False: there are more.') })),
      202: doneWith(z.strictObject({ replay_id: z.string(), status_url: z.string() })),
    },
    errors: { ...missing, 422: ['idempotency_key_reused'] },
    examples: [
      {
        params: { id },
        body: { since: '2026-11-21T00:00:00Z', dry_run: true },
        status: 200,
        answer: { status: true, message: 'nothing was told', data: { matched: 3, complete: true } },
      },
      {
        params: { id },
        body: { since: '2026-11-21T00:00:00Z', types: ['message.failed'] },
        status: 202,
        answer: {
          status: true,
          message: 'queued',
          data: { replay_id: replay, status_url: `http://127.0.0.1:3000/event-endpoints/${id}/replays/${replay}` },
        },
      },
    ],
  }),
  replayed: route({
    method: 'get',
    path: '/event-endpoints/:id/replays/:replay',
    summary: 'Tells how far a replay is.',
    access,
    params: replayParams,
    body: { as: 'ignored' },
    answers: { 200: doneWith(replaySchema) },
    errors: missing,
    examples: [
      {
        params: { id, replay },
        status: 200,
        answer: {
          status: true,
          message: 'done',
          data: {
            replay_id: replay,
            state: 'done',
            delivered: 3,
            created_at: '2026-11-21T10:00:00.000Z',
            ended_at: '2026-11-21T10:00:01.000Z',
          },
        },
      },
    ],
  }),
  attempts: route({
    method: 'get',
    path: '/event-endpoints/:id/attempts',
    summary:
      'Lists what the endpoint answered lately, the latest first: some 500 successes and 500 failures, for 7 days.',
    access,
    params,
    query: z.strictObject({ limit: pageFields.limit, cursor: textUpTo(200).optional() }),
    body: { as: 'ignored' },
    answers: { 200: listOf(attemptSchema) },
    errors: missing,
    examples: [
      {
        params: { id },
        query: { limit: '1' },
        status: 200,
        answer: {
          status: true,
          data: [
            {
              at: '2026-11-21T10:00:02.000Z',
              delivery: 'bat_5pXh0wqk1vC2nM8rT3yUzL9aE7f',
              ok: false,
              events: 2,
              types: ['message.delivered'],
              attempt: 1,
              status: 503,
              problem: null,
              took_ms: 12,
              answer: 'try later',
              retry_at: '2026-11-21T10:00:07.000Z',
            },
          ],
          next: null,
        },
      },
    ],
  }),
}
