// Sending: one message of any kind but a template, one template, and many of both in one request. The intake queue takes
// the same bodies, so src/messages/accept reads them.
import { z } from 'zod'
import { acknowledgementSchema, BATCH_MAX, batchResultSchema } from '../../../messages/accept/acknowledgement.ts'
import { envelopeSchema, templateEnvelopeSchema } from '../../../messages/accept/read-send.ts'
import { sentMessageSchema } from '../../../messages/lookup/message-schema.ts'
import { NOT_A_SENDER } from '../../../model/accounts/sender.ts'
import { serviceContentSchema, templateMessageContent } from '../../../model/messages/content.ts'
import { doneWith } from '../answers.ts'
import { routesOf } from '../define.ts'
import { idempotencyHeaders, traceHeaders } from '../fields.ts'
import { imageMessage, newMessages as ownMessages, serviceMessages, templateMessages } from './examples.ts'

/** A thousand messages of 4 KB. */
const BATCH_LIMIT_BYTES = 4 * 1024 * 1024

const [text, interactive, image, audio, video, document, sticker, location, contacts, reaction] =
  serviceContentSchema.options

/** Each kind but templates, in an envelope; their names in the description have the prefix. */
function kindsIn<E extends z.ZodRawShape>(envelope: z.ZodObject<E>, prefix = '') {
  const kind = <C extends z.ZodRawShape>(id: string, content: z.ZodObject<C>) =>
    envelope.extend(content.shape).meta({ id: `${prefix}${id}` })
  return [
    kind('TextMessage', text),
    kind('InteractiveMessage', interactive),
    kind('ImageMessage', image),
    kind('AudioMessage', audio),
    kind('VideoMessage', video),
    kind('DocumentMessage', document),
    kind('StickerMessage', sticker),
    kind('LocationMessage', location),
    kind('ContactsMessage', contacts),
    kind('ReactionMessage', reaction),
  ] as const
}
const kinds = kindsIn(envelopeSchema)
const serviceMessage = z.discriminatedUnion('type', kinds).meta({ id: 'ServiceMessage' })
const templateMessage = templateEnvelopeSchema.extend(templateMessageContent.shape).meta({ id: 'TemplateMessage' })
const anyMessage = z.discriminatedUnion('type', [...kinds, templateMessage]).meta({ id: 'BatchMessage' })

/** Fields with only one value, which our own address does not require. */
const ONLY_VALUES = { recipient_type: true, messaging_product: true } as const
const newMessage = z
  .discriminatedUnion('type', [
    ...kindsIn(envelopeSchema.partial(ONLY_VALUES), 'New'),
    templateEnvelopeSchema.partial(ONLY_VALUES).extend(templateMessageContent.shape).meta({ id: 'NewTemplateMessage' }),
  ])
  .meta({ id: 'NewMessage' })
const newMessages = z.strictObject({ messages: z.array(newMessage).min(1).max(BATCH_MAX) }).meta({ id: 'NewMessages' })
/** The answer has a fault for each item: one that is refused harms no other. */
const batch = z.strictObject({ messages: z.array(anyMessage).min(1).max(BATCH_MAX) })

const acknowledgement = {
  messaging_product: 'chatapp',
  contacts: [{ input: '+44 7700 900123', wa_id: '447700900123' }],
  messages: [{ id: 'msg_1_01M7WMESZP60D32VY8E5FM00EP' }],
}
const headers = idempotencyHeaders.extend(traceHeaders.shape)
const one = routesOf({ access: { in: 'api_key', permission: 'messages:send' }, forSenders: true })
const own = routesOf({ access: { in: 'bearer', permission: 'messages:send' }, forSenders: true })
const many = routesOf({ access: { in: 'bearer', permission: 'messages:send' } })
const bodyOf = <S extends z.ZodType<Record<string, unknown>>>(schema: S) =>
  ({ as: 'json', schema, readBy: 'handler', unknown: 'named' }) as const
const REFUSALS = { 400: ['unknown_sender', 'not_supported_by_provider'], 429: ['too_many_waiting'] } as const

export const sending = {
  message: own.post('/messages', `Sends a message of any kind, or up to ${BATCH_MAX} of them.`, {
    details:
      'Answers with the message, as `GET /messages/{id}` shows it; for several, with the result of each: one that is refused ' +
      'does not affect the others. Unknown fields are refused. A message leaves from the sender that it names, or from the ' +
      'default sender of the account; a template must name one.',
    takesRoom: 'handler',
    // Of what is sent on the machine itself alone.
    act: 'message.send',
    idempotent: true,
    headers,
    body: {
      as: 'json',
      schema: z.union([newMessage, newMessages], { error: 'expected a message, or a list of messages' }),
      readBy: 'handler',
      limit: BATCH_LIMIT_BYTES,
    },
    answers: { 202: z.union([doneWith(sentMessageSchema), doneWith(z.array(batchResultSchema))]) },
    errors: { ...REFUSALS, 409: ['outside_window'] },
    examples: [
      ...ownMessages.map((each, index) => ({
        ...each,
        headers: { 'Idempotency-Key': `order-78-${index}` },
        says: 'queued',
      })),
      {
        name: 'Several',
        body: { messages: ownMessages.map(({ body }) => body) },
        answer: {
          status: true,
          message: 'queued',
          data: ownMessages.map((_each, index) => ({ index, id: `msg_1_01M7WMESZP60D32VY8E5FM00E${index}` })),
        },
      },
    ],
  }),
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
