// How a conversation with a person stands.
import { z } from 'zod'
import { textUpTo } from '../../../messages/bounded.ts'
import { route } from '../../route.ts'
import { doneWith } from '../answers.ts'

const time = z.iso.datetime()

const conversationSchema = z.strictObject({
  person: z.string().describe('Digits, or the id of a person without a number.'),
  sender: z.string().describe('Digits of the number that the conversation is with.'),
  open: z
    .boolean()
    .nullable()
    .describe(
      'Whether any kind of message may be sent: within 24 hours of what the person wrote last. Null where the provider ' +
        'does not bring what people write.',
    ),
  open_until: time.nullable().describe('Null while it is not open.'),
  last_received_at: time.nullable().describe('Of the message that keeps it open.'),
  opted_out: z.boolean().describe('Whether the person wants no advertising of the account.'),
})
conversationSchema.register(z.globalRegistry, { id: 'Conversation' })

export const conversations = {
  show: route({
    method: 'get',
    path: '/conversations/:person',
    summary: 'Tells whether a person may be sent more than templates, and until when.',
    access: { in: 'bearer', permission: 'messages:read' },
    forSenders: true,
    params: z.object({
      person: textUpTo(140).meta({
        description: 'A number in any spelling, or WhatsApp’s id of a person without one.',
      }),
    }),
    query: z.strictObject({
      sender: textUpTo(255)
        .optional()
        .describe(
          'The sender by its number or name; the default sender unless given, which service messages leave from.',
        ),
    }),
    body: { as: 'ignored' },
    answers: { 200: doneWith(conversationSchema) },
    errors: { 400: ['unknown_sender'] },
    examples: [
      {
        params: { person: '+447700900123' },
        status: 200,
        answer: {
          status: true,
          message: 'conversation',
          data: {
            person: '447700900123',
            sender: '447700900001',
            open: true,
            open_until: '2026-11-22T10:00:00.000Z',
            last_received_at: '2026-11-21T10:00:00.000Z',
            opted_out: false,
          },
        },
      },
    ],
  }),
}
