// Events: the feed that is pulled, the endpoints that they are pushed to, and pushing them again.
import { z } from 'zod'
import { textUpTo } from '../../../kernel/bounded.ts'
import { attemptSchema, endpointChanges, endpointSchema, newEndpointFields } from '../../../model/events/endpoint.ts'
import { EVENT_TYPES, eventSchema, eventTypeSchema } from '../../../model/events/event-schema.ts'
import { doneWith, made, one, page } from '../answers.ts'
import { routesOf } from '../define.ts'
import { count, flagField, pageFields, pageQuery, timeField } from '../fields.ts'
import { resource } from '../resource.ts'

const access = { in: 'bearer', permission: 'events' } as const
const route = routesOf({ access, params: z.object({ id: z.string() }), shown: { id: 'ep_5f0c2a7d9b1e4f6a8c' } })

const typesField = textUpTo(1_000)
  .transform((list) => list.split(',').map((type) => type.trim()))
  .pipe(z.array(eventTypeSchema).min(1))
  .meta({ type: 'string', description: `Types separated by commas, all unless given: ${EVENT_TYPES.join(', ')}.` })

const feedQuery = z.strictObject({
  // A cursor holds a place for each sender.
  after: textUpTo(8_000).optional().meta({ description: '`next` of an earlier answer; without it, all that is kept.' }),
  types: typesField.optional(),
  limit: pageFields.limit,
  include_content: flagField.meta({ description: 'Whether numbers and texts are included.' }),
})

const withSecret = z
  .strictObject({
    ...endpointSchema.shape,
    secret: z.string().nullable().describe('Shown now and never again; null in a repeat after it was rotated.'),
  })
  .meta({ id: 'NewlyMadeEventEndpoint' })

const replayBody = z
  .strictObject({
    since: timeField,
    until: timeField.optional(),
    types: z.array(eventTypeSchema).min(1).max(EVENT_TYPES.length).optional(),
    failed_only: z.boolean().default(false).describe('Only those that it has not accepted.'),
    dry_run: z.boolean().default(false).describe('Only count them.'),
  })
  .meta({ id: 'EventReplay' })

const replaySchema = z
  .strictObject({
    replay_id: z.string(),
    state: z.enum(['waiting', 'running', 'done']),
    delivered: count.describe('Events that were delivered again so far.'),
    created_at: z.iso.datetime(),
    ended_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'EventReplayProgress' })

const since = '2026-11-21T00:00:00Z'

/** As the feed and an endpoint get it. */
export const deliveredEvent = {
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
    reference: 'order 4711',
    campaign: null,
    provider_id: null,
    accepted_at: '2026-11-21T10:00:00.000Z',
    problem: null,
    pricing: { billable: true, pricing_model: 'PMP', type: 'regular', category: 'service' },
    sender: '447700900001',
  },
}

const endpoint = resource({
  noun: 'endpoint',
  at: '/event-endpoints',
  params: z.object({ id: z.string() }),
  shown: { id: 'ep_5f0c2a7d9b1e4f6a8c' },
  look: access,
  document: endpointSchema,
  given: newEndpointFields,
  changes: endpointChanges,
  query: pageQuery(40).extend({
    failing: flagField.meta({ description: 'Only those that do not accept events, or were turned off for that.' }),
  }),
})

export const events = {
  pull: route.get(
    '/events',
    'Lists events since a cursor, in order for each sender. The first request starts the feed.',
    {
      query: feedQuery,
      answers: {
        200: z.strictObject({
          status: z.literal(true),
          data: z.array(eventSchema),
          next: z.string().describe('What to give as `after` next time, also when nothing is new.'),
        }),
      },
      examples: [{ query: { limit: '1' }, data: [deliveredEvent], next: 'AQHg7ce0zjQAAQ' }],
    },
  ),
  create: endpoint.create('Creates an endpoint that gets all events from now on.', {
    details: 'The answer holds the secret that deliveries are signed with.',
    answers: made(withSecret),
    errors: { 400: ['unknown_sender'], 422: ['too_many_endpoints'] },
    examples: [
      {
        body: {
          url: 'https://shop.example/hooks/laneway',
          types: ['message.delivered', 'message.failed'],
          batch: { max_events: 100 },
        },
        says: 'created',
      },
    ],
  }),
  list: endpoint.list('Lists the endpoints of the account.', {
    access: { ...access, withoutAccount: true },
    details: 'An operator that names no account gets those of all.',
  }),
  show: endpoint.show('Shows an endpoint.', {}),
  change: endpoint.change('Changes an endpoint. Enabled again, it continues where it stopped.', {
    errors: { 400: ['unknown_sender'] },
    examples: [{ body: { enabled: false }, says: 'changed' }],
  }),
  remove: endpoint.remove('Removes an endpoint and its waiting deliveries.', {}),
  rotate: route.post('/event-endpoints/:id/rotate-secret', 'Rotates the secret of an endpoint.', {
    details: 'Deliveries are signed with the old one as well for 24 hours.',
    act: 'endpoint.rotate_secret',
    answers: one(z.strictObject({ secret: z.string() })),
    examples: [{ body: {}, says: 'rotated' }],
  }),
  test: route.post('/event-endpoints/:id/test', 'Sends the endpoint an event of the type endpoint.test, once.', {
    details: 'Its attempts show what it answered.',
    act: 'endpoint.test',
    answers: { 202: doneWith(z.strictObject({ delivery: z.string() })) },
    examples: [{ body: {}, says: 'queued' }],
  }),
  replay: route.post(
    '/event-endpoints/:id/replay',
    'Delivers past events to the endpoint again, as a job; dry_run only counts them.',
    {
      act: 'endpoint.replay',
      idempotent: true,
      body: replayBody,
      answers: {
        200: doneWith(z.strictObject({ matched: z.int(), complete: z.boolean().describe('False: there are more.') })),
        202: doneWith(z.strictObject({ replay_id: z.string(), status_url: z.string() })),
      },
      examples: [
        { body: { since, dry_run: true }, says: 'nothing was delivered' },
        { body: { since, types: ['message.failed'] }, status: 202, says: 'queued' },
      ],
    },
  ),
  replayed: route.get('/event-endpoints/:id/replays/:replay', 'Shows the progress of a replay.', {
    params: z.object({ id: z.string(), replay: z.string() }),
    answers: one(replaySchema),
    examples: [{ params: { id: 'ep_5f0c2a7d9b1e4f6a8c', replay: 'rpl_01M7WMMBQHKTZHMT677YAAW3FV' }, says: 'done' }],
  }),
  attempts: route.get(
    '/event-endpoints/:id/attempts',
    'Lists recent attempts of deliveries to the endpoint, the latest first.',
    {
      details: 'Some 500 successes and 500 failures, for 7 days.',
      query: pageQuery(200),
      answers: page(attemptSchema),
      examples: [{ query: { limit: '1' } }],
    },
  ),
}
