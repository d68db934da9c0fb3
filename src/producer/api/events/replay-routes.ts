// Telling an endpoint again what happened within a time, as a job.
import { z } from 'zod'
import { EVENT_TYPES, eventTypeSchema } from '../../../events/event-types.ts'
import { route } from '../../route.ts'
import { doneWith } from '../answers.ts'
import { idempotencyHeaders } from '../fields.ts'

const access = { in: 'bearer', permission: 'events' } as const

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

const id = 'ep_5f0c2a7d9b1e4f6a8c'
const replay = 'rpl_01M7WMMBQHKTZHMT677YAAW3FV'

export const eventReplays = {
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
}
