// What happens, told: the feed that is pulled, and the endpoints that it is pushed to.
import { z } from 'zod'
import { eventSchema } from '../../../events/event-schema.ts'
import { EVENT_TYPES, eventTypeSchema } from '../../../events/event-types.ts'
import { textUpTo } from '../../../messages/bounded.ts'
import { route } from '../../route.ts'
import { pageFields } from '../fields.ts'
import { eventAttempts, eventEndpoints } from './endpoint-routes.ts'
import { deliveredEvent } from './example.ts'
import { eventReplays } from './replay-routes.ts'

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
  after: textUpTo(8_000).optional().meta({ description: '`next` of an earlier answer; without it, all that is kept.' }),
  types: typesField.optional(),
  limit: pageFields.limit,
  include_content: flag.meta({ description: 'Whether numbers and texts are told.' }),
})

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
      { query: { limit: '1' }, status: 200, answer: { status: true, data: [deliveredEvent], next: 'AQHg7ce0zjQAAQ' } },
    ],
  }),
  ...eventEndpoints,
  ...eventReplays,
  ...eventAttempts,
}
