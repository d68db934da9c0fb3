// Sending: one message of any kind but a template, one template, and many of both in one request. The intake queue takes
// the same bodies, so src/messages/accept reads them.
import { z } from 'zod'
import { acknowledgementSchema, BATCH_MAX, batchResultSchema } from '../../../messages/accept/acknowledgement.ts'
import { envelopeSchema, templateEnvelopeSchema } from '../../../messages/accept/read-send.ts'
import { NOT_A_SENDER } from '../../../model/accounts/sender.ts'
import { serviceContentSchema, templateMessageContent } from '../../../model/messages/content.ts'
import { routesOf } from '../define.ts'
import { idempotencyHeaders, traceHeaders } from '../fields.ts'
import { imageMessage, serviceMessages, templateMessages } from './examples.ts'

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
/** The answer has a fault for each item: one that is refused harms no other. */
const batch = z.strictObject({ messages: z.array(anyMessage).min(1).max(BATCH_MAX) })

const acknowledgement = {
  messaging_product: 'chatapp',
  contacts: [{ input: '+44 7700 900123', wa_id: '447700900123' }],
  messages: [{ id: 'msg_1_01M7WMESZP60D32VY8E5FM00EP' }],
}
const headers = idempotencyHeaders.extend(traceHeaders.shape)
const one = routesOf({ access: { in: 'api_key', permission: 'messages:send' }, forSenders: true })
const many = routesOf({ access: { in: 'bearer', permission: 'messages:send' } })
const bodyOf = <S extends z.ZodType<Record<string, unknown>>>(schema: S) =>
  ({ as: 'json', schema, readBy: 'handler', unknown: 'named' }) as const
const REFUSALS = { 400: ['unknown_sender', 'not_supported_by_provider'], 429: ['too_many_waiting'] } as const

export const sending = {
  service: one.post('/sendservicemessages/sendmessages', 'Sends any message but a template.', {
    details:
      'It leaves from the sender that it names, or from the default sender of the account. Outside of the 24 hours after ' +
      'what the person wrote last, the answer has the header `x-laneway-warning: outside_window`, or is 409 where the ' +
      'account is set to `outside_window refuse`.',
    idempotent: true,
    headers,
    body: bodyOf(serviceMessage),
    answers: { 200: acknowledgementSchema },
    errors: { ...REFUSALS, 409: ['outside_window'] },
    examples: serviceMessages.map((each, index) => ({
      ...each,
      headers: { 'Idempotency-Key': `order-77-${index}` },
      answer: acknowledgement,
    })),
  }),
  template: one.post(
    '/chatappbusiness/send-templated-message',
    'Sends one approved template, filled in, to one recipient.',
    {
      idempotent: true,
      headers,
      body: bodyOf(templateMessage),
      answers: { 200: acknowledgementSchema },
      errors: REFUSALS,
      examples: templateMessages.map((each) => ({ ...each, answer: acknowledgement })),
    },
  ),
  batch: many.post('/messages/batch', `Sends up to ${BATCH_MAX} messages and answers with the result of each.`, {
    takesRoom: true,
    idempotent: true,
    headers,
    body: { as: 'json', schema: batch, readBy: 'handler', limit: BATCH_LIMIT_BYTES },
    answers: { 200: z.strictObject({ results: z.array(batchResultSchema) }) },
    errors: { 429: ['too_many_waiting'] },
    examples: [
      {
        body: { messages: [imageMessage, { ...templateMessages[0]?.body, sender: 'nobody' }] },
        answer: {
          results: [
            { index: 0, id: 'msg_1_01M7WMESZP60D32VY8E5FM00EP' },
            {
              index: 1,
              error: {
                code: 'unknown_sender',
                message: 'sender: the account has no sender of this number or name.',
                details: [{ path: 'sender', message: NOT_A_SENDER }],
              },
            },
          ],
        },
      },
    ],
  }),
}
