// Senders: the numbers that messages are sent from, each with its provider and its lane.
import { z } from 'zod'
import { textUpTo } from '../../../kernel/bounded.ts'
import {
  DEFAULT_RATE,
  isSenderName,
  isServerAddress,
  MAX_RATE,
  MIN_RATE,
  marketingRouteSchema,
  PROVIDER_ID,
  providerNameSchema,
  senderDocumentSchema,
  senderFaults,
  TOKEN,
} from '../../../model/accounts/sender.ts'
import { senderCheckSchema } from '../../../model/accounts/sender-check.ts'
import { one } from '../answers.ts'
import { changesOf, idField, phoneField, senderField } from '../fields.ts'
import { resource } from '../resource.ts'

const nameField = textUpTo(100)
  .trim()
  .refine((name) => isSenderName(name), 'expected a name with at least one letter')
  .describe('What requests may call it besides its number.')
const tokenField = textUpTo(4_096)
  .regex(TOKEN, 'expected printable characters without spaces')
  .describe('Token or api_key of the provider; it is sealed and never shown.')
const addressField = textUpTo(2_048)
  .refine(isServerAddress, 'expected an address that begins with http:// or https://')
  .describe('The provider’s server. Only an operator may name one that no sender of the account uses yet.')
const wabaField = z
  .string()
  .regex(PROVIDER_ID, 'expected digits, as WhatsApp shows them')
  .describe(
    'WhatsApp Business Account that it belongs to; its templates are synced automatically. ' +
      'Only an operator may name that of another account’s senders.',
  )
const rateField = z.number().min(MIN_RATE).max(MAX_RATE).describe('Messages per second.')

const PATHS = {
  phoneNumberId: 'phone_number_id',
  honoursIdempotency: 'honours_idempotency',
  wabaId: 'waba_id',
} as const

const newSender = z
  .strictObject({
    number: phoneField,
    provider: providerNameSchema,
    base_url: addressField,
    token: tokenField,
    phone_number_id: z
      .string()
      .regex(/^\d{1,30}$/, 'expected digits, as WhatsApp shows them')
      .optional()
      .describe('WhatsApp’s id of the number; required with cloud-api.'),
    waba_id: wabaField.optional(),
    name: nameField.optional(),
    rate: rateField.default(DEFAULT_RATE),
    honours_idempotency: z
      .boolean()
      .default(false)
      .describe('The provider honours our Idempotency-Key, which makes a repeat safe; only with partner-api.'),
    default: z.boolean().default(false).describe('Service messages of the account leave from it.'),
  })
  .superRefine(({ provider, phone_number_id: phoneNumberId = '', ...rest }, context) => {
    const { honours_idempotency: honoursIdempotency, waba_id: wabaId } = rest
    const sender = { provider, phoneNumberId, honoursIdempotency, wabaId }
    for (const { field, message } of senderFaults(sender, 'the provider')) {
      context.addIssue({ code: 'custom', path: [PATHS[field]], message })
    }
  })

const changes = changesOf({
  name: nameField.nullable(),
  rate: rateField,
  token: tokenField,
  base_url: addressField,
  portfolio: idField.nullable().describe('Business portfolio of the account whose daily limit it shares; null: none.'),
  waba_id: wabaField.nullable(),
  follow_provider: z.boolean().describe('Its rate and limits follow WhatsApp’s reports.'),
  marketing_route: marketingRouteSchema.describe('Where its marketing templates go, unless a campaign says otherwise.'),
  strict_pace: z.boolean().describe('Keep the rate also within every single second, which costs 1.2 % of it.'),
  default: z.literal(true).describe('Service messages of the account leave from it from now on.'),
})

const sender = resource({
  noun: 'sender',
  at: '/admin/senders',
  params: z.object({ id: senderField }),
  shown: { id: '1' },
  look: { in: 'bearer', permission: 'admin', withoutAccount: true },
  change: { in: 'bearer', permission: 'admin' },
  knowsItsAccount: true,
  document: senderDocumentSchema,
  given: newSender,
  changes,
  mcp: 'read',
})

export const senders = {
  list: sender.list('Lists senders; for an operator that names no account, those of all.', {}),
  create: sender.create('Adds a sender with its lane; the first one of an account becomes its default.', {
    errors: { 409: ['sender_taken'] },
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
        says: 'created',
      },
    ],
  }),
  show: sender.show('Shows a sender, without its token.', {}),
  check: sender.ofOne.get('/admin/senders/:id/check', 'Checks a sender with WhatsApp, and reports what is missing.', {
    mcp: 'read',
    details:
      'Token, permissions, number, name, quality, throughput, limit, account, templates and webhooks, each in one sentence ' +
      'with what to do. Nothing is changed. It takes up to 16 s.',
    answers: one(senderCheckSchema),
    examples: [
      {
        says: 'checked',
        data: {
          ...{ sender: 1, checked_at: '2026-11-24T09:00:00.000Z', ok: false },
          findings: [
            {
              ...{ what: 'number', state: 'missing' },
              sentence: 'The number is not ready to send: its status is PENDING.',
              do: 'Register it with a PIN: POST /106540352242922/register, see docs/guides/whatsapp.md.',
            },
          ],
        },
      },
    ],
  }),
  change: sender.change(
    'Changes name, rate, token, address, portfolio, account at WhatsApp or route of a sender, or makes it the default.',
    {
      details: 'In force within 2 s.',
      errors: { 400: ['not_supported_by_provider'], 409: ['sender_taken'] },
      examples: [{ body: { rate: 40 }, says: 'changed' }],
    },
  ),
  remove: sender.remove('Removes a sender that has nothing to do, and frees its number; takes about 2 s.', {
    errors: { 409: ['sender_busy'] },
    examples: [{ params: { id: '9' }, says: 'removed' }],
  }),
}
