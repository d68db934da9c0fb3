// The endpoints that what happens is pushed to: made, changed, tried out, and what they answered lately.
import { z } from 'zod'
import { attemptSchema, endpointChanges, endpointSchema, newEndpointFields } from '../../../events/endpoint.ts'
import { textUpTo } from '../../../messages/bounded.ts'
import { route } from '../../route.ts'
import { done, doneWith, listOf } from '../answers.ts'
import { idempotencyHeaders, noFields, pageFields } from '../fields.ts'

const access = { in: 'bearer', permission: 'events' } as const

const params = z.object({ id: z.string() })
const missing = { 404: ['not_found'] } as const

const withSecret = z
  .strictObject({
    ...endpointSchema.shape,
    secret: z.string().nullable().describe('Shown now and never again; null in a repeat after it was rotated.'),
  })
  .meta({ id: 'NewlyMadeEventEndpoint' })

const id = 'ep_5f0c2a7d9b1e4f6a8c'
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

export const eventEndpoints = {
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
}

export const eventAttempts = {
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
