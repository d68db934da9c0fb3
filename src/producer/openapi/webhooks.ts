// Webhooks: what endpoints of events get, and what WhatsApp's Cloud API posts to POST /webhooks/cloud-api. Of the
// latter src/providers/cloud-webhook.ts reads these; a field that it does not read is kept as a notice.
import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { eventSchema } from '../../model/events/event-schema.ts'
import { deliveredEvent } from '../api/events/routes.ts'

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
      tags: ['Events'],
      summary: 'Something has happened: one event, or a batch for an endpoint that takes them.',
      description:
        'Signed as in Standard Webhooks 1.0. Delivered at least once; drop a `seq` that is not above what you know.',
      security: [],
      requestParams: { header: headers },
      requestBody: {
        required: true,
        content: { 'application/json': { schema: z.union([eventSchema, batch]), example: deliveredEvent } },
      },
      responses: {
        204: { description: 'Accepted, as with any 2xx.' },
        410: { description: 'The endpoint is disabled from now on.' },
        503: { description: 'It is delivered again later; `Retry-After` is honoured, as after any other failure.' },
      },
    },
  },
}

const text = z.string()
const seconds = z
  .string()
  .regex(/^\d{1,15}$/)
  .describe('Unix seconds.')
const metadata = z.object({ phone_number_id: text, display_phone_number: text.optional() })
const titled = z.object({ title: text }).optional()
const captioned = z.object({ caption: text.optional() }).optional()

const status = z.object({
  id: text.describe('WhatsApp’s id of the message.'),
  status: z.enum(['sent', 'delivered', 'read', 'failed', 'played']),
  timestamp: seconds,
  recipient_id: text.optional(),
  biz_opaque_callback_data: text.optional(),
  errors: z
    .array(
      z.object({
        code: z.int(),
        title: text.optional(),
        error_data: z.object({ details: text.optional() }).optional(),
      }),
    )
    .optional(),
})

const message = z.object({
  id: text.describe('WhatsApp’s id of the message.'),
  from: text.optional().describe('Digits of the person.'),
  timestamp: seconds,
  type: text.describe('WhatsApp’s own word, such as `text` or `image`.'),
  text: z.object({ body: text }).optional(),
  button: z.object({ text }).optional(),
  interactive: z.object({ button_reply: titled, list_reply: titled }).optional(),
  image: captioned,
  video: captioned,
  document: captioned,
})

const preference = z.object({
  wa_id: text.optional().describe('Digits of the person.'),
  user_id: text.optional(),
  category: text.describe('Only `marketing_messages` has an effect.'),
  value: z.enum(['stop', 'resume']),
  timestamp: z.int().describe('Unix seconds.'),
})

const exampleMetadata = { display_phone_number: '447700900001', phone_number_id: '106540352242922' }

export const providerWebhooks: ZodOpenApiPathsObject = {
  cloudApiStatus: report({
    id: 'cloudApiStatus',
    summary: 'A message that we sent has another status.',
    description: 'It moves only a message whose request carried our signed id, in `biz_opaque_callback_data`.',
    value: z.object({ messaging_product: text.optional(), metadata: metadata.optional(), statuses: z.array(status) }),
    example: {
      messaging_product: 'whatsapp',
      metadata: exampleMetadata,
      statuses: [
        {
          id: 'wamid.HBgMNDQ3NzAwOTAwMTIz',
          status: 'delivered',
          timestamp: '1795183568',
          recipient_id: '447700900123',
          biz_opaque_callback_data: 'signed by us',
        },
      ],
    },
  }),
  cloudApiMessage: report({
    id: 'cloudApiMessage',
    summary: 'Somebody wrote to one of our numbers.',
    description: 'The message is kept and can be looked up by WhatsApp’s id.',
    value: z.object({ messaging_product: text.optional(), metadata, messages: z.array(message) }),
    example: {
      messaging_product: 'whatsapp',
      metadata: exampleMetadata,
      messages: [
        {
          id: 'wamid.HBgMNDQ3NzAwOTAwMTI0',
          from: '447700900124',
          timestamp: '1795183569',
          type: 'text',
          text: { body: 'Is it still there?' },
        },
      ],
    },
  }),
  cloudApiPreference: report({
    id: 'cloudApiPreference',
    summary: 'Somebody stopped or resumed advertising.',
    description:
      'A person who stops is added to the opt-outs; one who resumes is removed, unless the account added them.',
    field: 'user_preferences',
    value: z.object({ messaging_product: text.optional(), metadata, user_preferences: z.array(preference) }),
    example: {
      messaging_product: 'whatsapp',
      metadata: exampleMetadata,
      user_preferences: [
        { wa_id: '447700900124', category: 'marketing_messages', value: 'stop', timestamp: 1_795_183_569 },
      ],
    },
  }),
  cloudApiNews: report({
    id: 'cloudApiNews',
    summary: 'WhatsApp reports a change of a template, a number or an account.',
    description:
      'It is applied, unless a newer one by `time` is known, and kept as a notice (`GET /admin/notices`); so is a field that ' +
      'Laneway does not read.',
    field: 'message_template_status_update',
    value: z.looseObject({ event: text.optional() }),
    example: {
      event: 'PAUSED',
      message_template_id: 1_689_556_908_129_832,
      message_template_name: 'gift_note',
      message_template_language: 'en_US',
      reason: 'LOW_QUALITY',
    },
  }),
}

/** A report in the common envelope, signed. */
function report(options: {
  id: string
  summary: string
  description: string
  field?: string
  value: z.ZodType
  example: object
}) {
  const { id, summary, description, field = 'messages', value, example } = options
  const change = z.object({ field: id === 'cloudApiNews' ? text : z.literal(field), value })
  const time = z.int().describe('When it happened, Unix seconds.').optional()
  const entry = z.object({ id: text.describe('Account at WhatsApp.'), time, changes: z.array(change) })
  const envelope = z.object({ object: text, entry: z.array(entry) })
  const signature = z.string().regex(/^sha256=[0-9a-f]{64}$/)
  return {
    post: {
      operationId: id,
      tags: ['Provider webhooks'],
      summary,
      description: `${description} Sent to \`POST /webhooks/cloud-api\`, several in one request.`,
      security: [],
      requestParams: {
        header: z.object({
          'X-Hub-Signature-256': signature.describe('HMAC-SHA256 of the raw body under the app secret, in hex.'),
        }),
      },
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: envelope,
            example: {
              object: 'whatsapp_business_account',
              entry: [{ id: '1', changes: [{ field, value: example }] }],
            },
          },
        },
      },
      responses: {
        200: { description: 'All of it is stored.' },
        401: { description: 'The signature is not that of the body.' },
        503: { description: 'Redis is away; WhatsApp sends it again.' },
      },
    },
  }
}
