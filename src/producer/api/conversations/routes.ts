// The conversation with a person: whether they may be sent more than templates, and what was written in both directions.
import { z } from 'zod'
import { textUpTo } from '../../../kernel/bounded.ts'
import { listedMessageSchema } from '../../../messages/lookup/message-schema.ts'
import { named, one, page } from '../answers.ts'
import { routesOf } from '../define.ts'
import { listedPersonField, pageQuery } from '../fields.ts'

const route = routesOf({
  access: { in: 'bearer', permission: 'messages:read' },
  params: z.object({ person: listedPersonField }),
  shown: { person: '+447700900123' },
})
const time = z.iso.datetime()

export const conversationSchema = named('Conversation', {
  person: z.string().describe('Digits, or the id of a person without a number.'),
  sender: z.string().describe('Digits of the number that the conversation is with.'),
  open: z
    .boolean()
    .nullable()
    .describe(
      'Whether any kind of message may be sent: within 24 hours of what the person wrote last. Null where the provider ' +
        'does not deliver what people write.',
    ),
  open_until: time.nullable().describe('Null while it is not open.'),
  last_received_at: time.nullable().describe('Of the message that keeps it open.'),
  opted_out: z.boolean().describe('Whether the person wants no advertising of the account.'),
})

export const conversations = {
  show: route.get('/conversations/:person', 'Shows whether a person may be sent more than templates, and until when.', {
    mcp: 'read',
    forSenders: true,
    query: z.strictObject({
      sender: textUpTo(255)
        .optional()
        .describe('The sender by number or name; unless given, the default sender of the account.'),
    }),
    answers: one(conversationSchema),
    errors: { 400: ['unknown_sender'] },
    examples: [{ says: 'conversation' }],
  }),
  messages: route.get(
    '/conversations/:person/messages',
    'Lists what was sent to a person and what they wrote, the newest first, a page at a time.',
    {
      mcp: 'read',
      access: { in: 'bearer', permission: 'messages:read', removedToo: true },
      forSenders: true,
      query: pageQuery(100).extend({
        sender: textUpTo(255)
          .optional()
          .describe('The sender by number or name; unless given, all senders that the key is for.'),
        direction: z.enum(['outbound', 'inbound']).optional(),
      }),
      answers: page(listedMessageSchema),
      errors: { 400: ['unknown_sender'] },
      examples: [{ query: { limit: '1' } }],
    },
  ),
}
