// Sending: one message, from the account's default sender or by a template, and many in one request. Their bodies are read
// where the intake queue is read too (src/accept).
import { z } from 'zod'
import { acknowledgementSchema, BATCH_MAX, batchResultSchema } from '../../accept/acknowledgement.ts'
import { serviceContentSchema, templateMessageContent } from '../../messages/content.ts'
import { envelopeSchema } from '../../messages/envelope.ts'
import { templateEnvelopeSchema } from '../../messages/templates/template-message.ts'
import { idempotencyHeaders } from '../fields.ts'
import { route } from '../route.ts'

/** A thousand messages of 4 KB. */
const BATCH_LIMIT_BYTES = 4 * 1024 * 1024

const serviceMessage = envelopeSchema.and(serviceContentSchema)
const templateMessage = templateEnvelopeSchema.and(templateMessageContent)

const address = { to: '+44 7700 900123', recipient_type: 'individual', messaging_product: 'chatapp' }
const image = {
  ...address,
  type: 'image',
  image: { link: 'https://shop.example/spring.png', caption: 'Spring is here' },
}
const template = {
  ...address,
  type: 'template',
  sender: '447700900001',
  template: {
    name: 'order_update',
    language: { code: 'en_US' },
    components: [{ type: 'body', parameters: [{ type: 'text', text: 'Ada' }] }],
  },
}
const acknowledgement = {
  messaging_product: 'chatapp',
  contacts: [{ input: '+44 7700 900123', wa_id: '447700900123' }],
  messages: [{ id: 'msg_1_01M7WMESZP60D32VY8E5FM00EP' }],
}
const REFUSALS = {
  400: ['unknown_sender', 'not_supported_by_provider'],
  422: ['idempotency_key_reused'],
} as const

export const sending = {
  service: route({
    method: 'post',
    path: '/sendservicemessages/sendmessages',
    summary: 'Sends a list, reply buttons, an image or audio from the account’s default sender.',
    access: { in: 'api_key', permission: 'messages:send' },
    isFast: true,
    headers: idempotencyHeaders,
    body: { as: 'json', schema: serviceMessage, readBy: 'handler', unknown: 'named' },
    answers: { 200: acknowledgementSchema },
    errors: REFUSALS,
    examples: [{ headers: { 'Idempotency-Key': 'order-77' }, body: image, status: 200, answer: acknowledgement }],
  }),
  template: route({
    method: 'post',
    path: '/chatappbusiness/send-templated-message',
    summary: 'Sends one approved template, filled in, to one recipient.',
    access: { in: 'api_key', permission: 'messages:send' },
    isFast: true,
    headers: idempotencyHeaders,
    body: { as: 'json', schema: templateMessage, readBy: 'handler', unknown: 'named' },
    answers: { 200: acknowledgementSchema },
    errors: REFUSALS,
    examples: [{ body: template, status: 200, answer: acknowledgement }],
  }),
  batch: route({
    method: 'post',
    path: '/messages/batch',
    summary: `Sends up to ${BATCH_MAX} messages and tells of each what became of it.`,
    access: { in: 'bearer', permission: 'messages:send' },
    isFast: true,
    headers: idempotencyHeaders,
    body: {
      as: 'json',
      // What an item is, the answer says for each by itself: one that is refused harms no other.
      schema: z.strictObject({ messages: z.array(z.unknown()).min(1).max(BATCH_MAX) }),
      readBy: 'handler',
      limit: BATCH_LIMIT_BYTES,
    },
    answers: { 200: z.strictObject({ results: z.array(batchResultSchema) }) },
    errors: { 422: ['idempotency_key_reused'] },
    examples: [
      {
        body: { messages: [image, { ...template, to: undefined }] },
        status: 200,
        answer: {
          results: [
            { index: 0, id: 'msg_1_01M7WMESZP60D32VY8E5FM00EP' },
            {
              index: 1,
              error: {
                code: 'invalid_request',
                message: 'to: required.',
                details: [{ path: 'to', message: 'required' }],
              },
            },
          ],
        },
      },
    ],
  }),
}
