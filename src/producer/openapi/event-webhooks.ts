// What endpoints of events get.
import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { eventSchema } from '../../events/event-schema.ts'
import { deliveredEvent } from '../api/events/example.ts'
import { FAMILY_NOTES } from './families.ts'

const batch = z.strictObject({ type: z.literal('batch'), timestamp: z.iso.datetime(), data: z.array(eventSchema) })

const headers = z.object({
  'webhook-id': z.string().describe('Of the delivery, the same at each try.'),
  'webhook-timestamp': z.string().describe('Of the try, Unix seconds.'),
  'webhook-signature': z
    .string()
    .describe('`v1,` and the HMAC-SHA256 of id, time and body, base64; several by spaces.'),
})

export const eventWebhooks: ZodOpenApiPathsObject = {
  event: {
    post: {
      operationId: 'event',
      tags: [FAMILY_NOTES.events.name],
      summary: 'Something has happened: one event, or a batch for an endpoint that takes them.',
      description: 'Signed by Standard Webhooks 1.0. Told at least once; drop a `seq` that is not above what you know.',
      security: [],
      requestParams: { header: headers },
      requestBody: {
        required: true,
        content: { 'application/json': { schema: z.union([eventSchema, batch]), example: deliveredEvent } },
      },
      responses: {
        204: { description: 'Taken; any 2xx is.' },
        410: { description: 'The endpoint is disabled from now on.' },
        503: { description: 'It is told again later; `Retry-After` is honoured, as after any other failure.' },
      },
    },
  },
}
