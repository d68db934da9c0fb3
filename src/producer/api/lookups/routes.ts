// Lookups of the older interface: a message by its id, sent or received.
import { z } from 'zod'
import { deliverySchema } from '../../../messages/lookup/message-schema.ts'
import { routesOf } from '../define.ts'

const route = routesOf({ access: { in: 'api_key', permission: 'messages:read' }, forSenders: true })
const body = { as: 'json', schema: z.object({ message_id: z.string() }), unknown: 'named' } as const
const asked = { message_id: 'msg_1_01M7WMESZP60D32VY8E5FM00EP' }
const answer = <S extends z.ZodType>(message: S) => ({ 200: z.strictObject({ status: z.literal(true), message }) })

const infoSchema = z.strictObject({
  message_id: z.string(),
  message_text: z.string(),
  message_type: z.string().describe('`type` of the request; of a received message WhatsApp’s own word.'),
  message_from: z.string().describe('Digits of the sender, or of the person who wrote.'),
  direction: z.enum(['outbound', 'inbound']),
  status: z.enum(['pending', 'success', 'failed', 'unknown']),
  timestamp: z.int().describe('Unix seconds.'),
})
infoSchema.register(z.globalRegistry, { id: 'MessageInfo' })

const info = {
  ...asked,
  ...{ message_text: 'Spring is here', message_type: 'image', message_from: '447700900001' },
  ...{ direction: 'outbound', status: 'success', timestamp: 1_795_183_568 },
}

export const lookups = {
  info: route.post(
    '/chatappbusiness/fetchmessageinfo',
    'Shows what a message says, who wrote it, and whether it arrived.',
    {
      body,
      answers: answer(z.strictObject({ data: infoSchema })),
      examples: [{ body: asked, answer: { status: true, message: { data: info } } }],
    },
  ),
  delivery: route.post('/chatappbusiness/getmessgageinfobyid', 'Shows the delivery status of a message.', {
    body,
    answers: answer(deliverySchema),
    examples: [{ body: asked, answer: { status: true, message: { status: 'delivered', error_message: null } } }],
  }),
}
