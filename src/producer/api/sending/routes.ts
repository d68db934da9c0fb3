// Sending: one message of any kind but a template, one template, and many of both in one request. Their bodies are read
// where the intake queue is read too (src/messages/accept).
import { z } from 'zod'
import { acknowledgementSchema, BATCH_MAX, batchResultSchema } from '../../../messages/accept/acknowledgement.ts'
import { serviceContentSchema, templateMessageContent } from '../../../messages/content.ts'
import { envelopeSchema } from '../../../messages/envelope.ts'
import { templateEnvelopeSchema } from '../../../messages/templates/template-message.ts'
import { route } from '../../route.ts'
import { idempotencyHeaders, traceHeaders } from '../fields.ts'
import { imageMessage, serviceMessages, templateMessages } from './example-messages.ts'

/** A thousand messages of 4 KB. */
const BATCH_LIMIT_BYTES = 4 * 1024 * 1024

const kind = (id: string, shape: z.core.$ZodLooseShape) => envelopeSchema.extend(shape).meta({ id })
const [text, interactive, image, audio, video, document, sticker, location, contacts, reaction] =
  serviceContentSchema.options
const kinds = [
  kind('TextMessage', text.shape),
  kind('InteractiveMessage', interactive.shape),
  kind('ImageMessage', image.shape),
  kind('AudioMessage', audio.shape),
  kind('VideoMessage', video.shape),
  kind('DocumentMessage', document.shape),
  kind('StickerMessage', sticker.shape),
  kind('LocationMessage', location.shape),
  kind('ContactsMessage', contacts.shape),
  kind('ReactionMessage', reaction.shape),
] as const
const serviceMessage = z.discriminatedUnion('type', kinds).meta({ id: 'ServiceMessage' })
const templateMessage = templateEnvelopeSchema.extend(templateMessageContent.shape).meta({ id: 'TemplateMessage' })
const anyMessage = z.discriminatedUnion('type', [...kinds, templateMessage]).meta({ id: 'BatchMessage' })

const acknowledgement = {
  messaging_product: 'chatapp',
  contacts: [{ input: '+44 7700 900123', wa_id: '447700900123' }],
  messages: [{ id: 'msg_1_01M7WMESZP60D32VY8E5FM00EP' }],
}
const sendHeaders = idempotencyHeaders.extend(traceHeaders.shape)
const REFUSALS = {
  400: ['unknown_sender', 'not_supported_by_provider'],
  422: ['idempotency_key_reused'],
  429: ['too_many_waiting'],
} as const

export const sending = {
  service: route({
    method: 'post',
    path: '/sendservicemessages/sendmessages',
    summary: 'Sends any message but a template, from the sender that it names or the account’s default one.',
    access: { in: 'api_key', permission: 'messages:send' },
    forSenders: true,
    isFast: true,
    headers: sendHeaders,
    body: { as: 'json', schema: serviceMessage, readBy: 'handler', unknown: 'named' },
    details:
      'Outside of the 24 hours after what the person wrote last, the answer has the header `x-laneway-warning: ' +
      'outside_window`, or is 409 where the account says so (`outside_window refuse`).',
    answers: { 200: acknowledgementSchema },
    errors: { ...REFUSALS, 409: ['outside_window'] },
    examples: serviceMessages.map((each, place) => ({
      ...each,
      headers: { 'Idempotency-Key': `order-77-${place}` },
      status: 200,
      answer: acknowledgement,
    })),
  }),
  template: route({
    method: 'post',
    path: '/chatappbusiness/send-templated-message',
    summary: 'Sends one approved template, filled in, to one recipient.',
    access: { in: 'api_key', permission: 'messages:send' },
    forSenders: true,
    isFast: true,
    headers: sendHeaders,
    body: { as: 'json', schema: templateMessage, readBy: 'handler', unknown: 'named' },
    answers: { 200: acknowledgementSchema },
    errors: REFUSALS,
    examples: templateMessages.map((each) => ({ ...each, status: 200, answer: acknowledgement })),
  }),
  batch: route({
    method: 'post',
    path: '/messages/batch',
    summary: `Sends up to ${BATCH_MAX} messages and tells of each what became of it.`,
    access: { in: 'bearer', permission: 'messages:send' },
    takesRoom: true,
    isFast: true,
    headers: sendHeaders,
    body: {
      as: 'json',
      // What is wrong with an item, the answer says for each by itself: one that is refused harms no other.
      schema: z.strictObject({ messages: z.array(anyMessage).min(1).max(BATCH_MAX) }),
      readBy: 'handler',
      limit: BATCH_LIMIT_BYTES,
    },
    answers: { 200: z.strictObject({ results: z.array(batchResultSchema) }) },
    errors: { 422: ['idempotency_key_reused'], 429: ['too_many_waiting'] },
    examples: [
      {
        body: { messages: [imageMessage, { ...templateMessages[0]?.body, sender: 'nobody' }] },
        status: 200,
        answer: {
          results: [
            { index: 0, id: 'msg_1_01M7WMESZP60D32VY8E5FM00EP' },
            {
              index: 1,
              error: {
                code: 'unknown_sender',
                message: 'sender: the account has no sender of this number or name.',
                details: [{ path: 'sender', message: 'not a sender of the account' }],
              },
            },
          ],
        },
      },
    ],
  }),
}
