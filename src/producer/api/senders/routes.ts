// Senders: the numbers that messages are sent from, each with its provider and its lane.
import { z } from 'zod'
import { isSenderName, isServerAddress, senderFaults, TOKEN } from '../../../accounts/commands/sender-rules.ts'
import { senderDocumentSchema } from '../../../accounts/sender-document.ts'
import { MAX_RATE, MIN_RATE, providerNameSchema } from '../../../accounts/sender-settings.ts'
import { textUpTo } from '../../../messages/bounded.ts'
import { parsePhone } from '../../../messages/phone.ts'
import { route } from '../../route.ts'
import { done, doneWith, listOf } from '../answers.ts'
import { changesOf, idempotencyHeaders, pageFields, textIdField } from '../fields.ts'

const access = { in: 'bearer', permission: 'admin' } as const
const params = z.object({ id: textIdField })
const errors = { 404: ['not_found'] } as const

const numberField = textUpTo(40).transform((text, context) => {
  const phone = parsePhone(text)
  if (phone.ok) return phone.digits
  context.addIssue(phone.message)
  return z.NEVER
})
const nameField = textUpTo(100)
  .trim()
  .refine((name) => isSenderName(name), 'expected a name with at least one letter')
const tokenField = textUpTo(4_096)
  .regex(TOKEN, 'expected printable characters without spaces')
  .describe('Token or api_key of the provider; it is sealed and never shown.')
const addressField = textUpTo(2_048)
  .refine(isServerAddress, 'expected an address that begins with http:// or https://')
  .describe('The provider’s server. One that no sender of the account uses yet takes an operator.')
const rateField = z.number().min(MIN_RATE).max(MAX_RATE).describe('Messages per second.')

const newSender = z
  .strictObject({
    number: numberField,
    provider: providerNameSchema,
    base_url: addressField,
    token: tokenField,
    phone_number_id: z
      .string()
      .regex(/^\d{1,30}$/, 'expected digits, as WhatsApp shows them')
      .optional(),
    name: nameField.optional(),
    rate: rateField.default(80),
    honours_idempotency: z.boolean().default(false),
    default: z.boolean().default(false),
  })
  .superRefine(
    ({ provider, phone_number_id: phoneNumberId = '', honours_idempotency: honoursIdempotency }, context) => {
      const paths = { phoneNumberId: 'phone_number_id', honoursIdempotency: 'honours_idempotency' } as const
      for (const { field, message } of senderFaults({ provider, phoneNumberId, honoursIdempotency }, 'the provider')) {
        context.addIssue({ code: 'custom', path: [paths[field]], message })
      }
    },
  )

const changes = changesOf({
  name: nameField.nullable(),
  rate: rateField,
  token: tokenField,
  base_url: addressField,
  default: z.literal(true),
})

const example = {
  id: 1,
  account: 1,
  number: '447700900001',
  name: 'shop',
  provider: 'partner-api',
  base_url: 'https://provider.example',
  phone_number_id: null,
  rate: 80,
  honours_idempotency: false,
  default: true,
}
const added = { ...example, id: 9, number: '447700900055', name: 'second shop', rate: 20, default: false }

export const senders = {
  list: route({
    method: 'get',
    path: '/admin/senders',
    summary: 'Lists senders; for an operator that names no account, those of all.',
    access: { ...access, withoutAccount: true },
    query: z.strictObject({ limit: pageFields.limit, cursor: textIdField.optional() }),
    body: { as: 'ignored' },
    answers: { 200: listOf(senderDocumentSchema) },
    examples: [{ status: 200, answer: { status: true, data: [example], next: null } }],
  }),
  create: route({
    method: 'post',
    path: '/admin/senders',
    summary: 'Adds a sender with its lane; the first one of an account becomes its default.',
    access,
    act: 'sender.create',
    headers: idempotencyHeaders,
    body: { as: 'json', schema: newSender },
    answers: { 201: doneWith(senderDocumentSchema) },
    errors: { 409: ['sender_taken'], 422: ['idempotency_key_reused'] },
    examples: [
      {
        body: {
          number: '+44 7700 900055',
          provider: 'partner-api',
          base_url: 'https://provider.example',
          token: 'token-of-the-provider',
          name: 'second shop',
          rate: 20,
        },
        status: 201,
        answer: { status: true, message: 'created', data: added },
      },
    ],
  }),
  show: route({
    method: 'get',
    path: '/admin/senders/:id',
    summary: 'Shows a sender, without its token.',
    access: { ...access, withoutAccount: true },
    params,
    body: { as: 'ignored' },
    answers: { 200: doneWith(senderDocumentSchema) },
    errors,
    examples: [{ params: { id: '1' }, status: 200, answer: { status: true, message: 'sender', data: example } }],
  }),
  change: route({
    method: 'patch',
    path: '/admin/senders/:id',
    summary: 'Changes name, rate, token or address of a sender, or makes it the default; in force within 2 s.',
    access: { ...access, withoutAccount: true },
    act: 'sender.change',
    params,
    body: { as: 'json', schema: changes },
    answers: { 200: doneWith(senderDocumentSchema) },
    errors: { ...errors, 409: ['sender_taken'] },
    examples: [
      {
        params: { id: '1' },
        body: { rate: 40 },
        status: 200,
        answer: { status: true, message: 'changed', data: { ...example, rate: 40 } },
      },
    ],
  }),
  remove: route({
    method: 'delete',
    path: '/admin/senders/:id',
    summary: 'Removes a sender that has nothing to do, and frees its number; takes about 2 s.',
    access: { ...access, withoutAccount: true },
    act: 'sender.remove',
    params,
    body: { as: 'ignored' },
    answers: { 200: done },
    errors: { ...errors, 409: ['sender_busy'] },
    examples: [{ params: { id: '9' }, status: 200, answer: { status: true, message: 'removed' } }],
  }),
}
