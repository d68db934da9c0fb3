// Looking messages up by the older interface, sent and received.
import { z } from 'zod'
import { deliverySchema } from '../../../messages/lookup/message-schema.ts'
import { route } from '../../route.ts'

const access = { in: 'api_key', permission: 'messages:read' } as const
const body = { as: 'json', schema: z.object({ message_id: z.string() }), unknown: 'named' } as const
const asked = { message_id: 'msg_1_01M7WMESZP60D32VY8E5FM00EP' }

const infoSchema = z.strictObject({
  message_id: z.string(),
  message_text: z.string(),
  message_type: z.string().describe('The `type` of its request; of a received message WhatsApp’s own word.'),
  message_from: z.string().describe('Digits of the sender, or of who wrote.'),
  direction: z.enum(['outbound', 'inbound']),
  status: z.enum(['pending', 'success', 'failed', 'unknown']),
  timestamp: z.int().describe('Unix seconds.'),
})
infoSchema.register(z.globalRegistry, { id: 'MessageInfo' })

export const lookups = {
  info: route({
    method: 'post',
    path: '/chatappbusiness/fetchmessageinfo',
    summary: 'Tells what a message says, who wrote it, and whether it arrived.',
    access,
    forSenders: true,
    isFast: true,
    body,
    answers: { 200: z.strictObject({ status: z.literal(true), message: z.strictObject({ data: infoSchema }) }) },
    errors: { 404: ['not_found'] },
    examples: [
      {
        body: asked,
        status: 200,
        answer: {
          status: true,
          message: {
            data: {
              message_id: 'msg_1_01M7WMESZP60D32VY8E5FM00EP',
              message_text: 'Spring is here',
              message_type: 'image',
              message_from: '447700900001',
              direction: 'outbound',
              status: 'success',
              timestamp: 1_795_183_568,
            },
          },
        },
      },
    ],
  }),
  delivery: route({
    method: 'post',
    path: '/chatappbusiness/getmessgageinfobyid',
    summary: 'Tells the delivery status of a message.',
    access,
    forSenders: true,
    isFast: true,
    body,
    answers: { 200: z.strictObject({ status: z.literal(true), message: deliverySchema }) },
    errors: { 404: ['not_found'] },
    examples: [
      { body: asked, status: 200, answer: { status: true, message: { status: 'delivered', error_message: null } } },
    ],
  }),
}
