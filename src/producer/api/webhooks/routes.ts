// Webhooks of WhatsApp's Cloud API, which check a verify token or a signature themselves, and the secrets of an
// account for them. Two secrets of each name are valid at a time, so that changing one loses no webhook.
import { z } from 'zod'
import { WEBHOOK_SECRETS, WEBHOOK_SECRETS_MAX, webhookSecretSchema } from '../../../model/accounts/secrets.ts'
import { named, one } from '../answers.ts'
import { routesOf } from '../define.ts'
import { signatureHeaders, textIdField } from '../fields.ts'

/** WhatsApp sends up to 3 MB and 1,000 updates in one POST. */
const LIMIT_BYTES = 4 * 1024 * 1024

const path = '/webhooks/cloud-api'
const route = routesOf({
  access: { in: 'open', why: 'checks the signature or the verify token itself' },
  params: z.object({ account: textIdField }),
  shown: { account: '1' },
})

const word = z.unknown().meta({ type: 'string' })
const handshake = {
  // Anything wrong here is a wrong token, which the handler refuses.
  query: z.object({
    'hub.mode': word.optional(),
    'hub.verify_token': word.optional(),
    'hub.challenge': word.optional(),
  }),
  answers: { 200: { contentTypes: ['text/plain'] } },
  errors: { 403: ['forbidden'] },
  examples: [{ query: { 'hub.mode': 'subscribe', 'hub.verify_token': 'a secret', 'hub.challenge': '1158201444' } }],
} as const

const report = {
  headers: signatureHeaders,
  body: {
    as: 'raw',
    schema: z.looseObject({ object: z.string(), entry: z.array(z.unknown()) }),
    limit: LIMIT_BYTES,
  },
  errors: { 401: ['bad_signature'] },
  examples: [
    {
      headers: { 'X-Hub-Signature-256': 'sha256=…' },
      body: { object: 'whatsapp_business_account', entry: [{ id: '1', changes: [] }] },
      says: 'received',
    },
  ],
} as const

export const webhooks = {
  handshake: route.get(path, 'Answers the verification handshake to a caller that knows the verify token.', handshake),
  report: route.post(path, 'Takes statuses and received messages, and answers once all of it is stored.', {
    ...report,
  }),
  accountHandshake: route.get(`${path}/:account`, 'The same handshake, with a verify token of the account.', handshake),
  accountReport: route.post(`${path}/:account`, 'The same, signed with an app secret of the account.', {
    details: 'It changes nothing of another account.',
    ...report,
  }),
}

const secret = routesOf({
  access: { in: 'bearer', permission: 'admin' },
  params: z.object({ name: z.enum(WEBHOOK_SECRETS) }),
  shown: { name: 'webhook.app_secret' },
})
const countField = z.int().min(0).max(WEBHOOK_SECRETS_MAX).describe('How many are valid at the moment.')
const countsSchema = named('WebhookSecrets', { 'webhook.app_secret': countField, 'webhook.verify_token': countField })

const refusals = z.int().nonnegative().describe('Webhooks that were refused because of a wrong signature.')
const standingSchema = named('WebhookStanding', {
  ...countsSchema.shape,
  last_good_at: z.iso
    .datetime()
    .nullable()
    .describe(
      'When the last rightly signed webhook came to the address of the account, or, while the account has no app secret of its own, ' +
        'for anybody to the address of the installation; null: none within 30 days.',
    ),
  refused_last_hour: refusals,
  refused_last_day: refusals,
})

export const webhookSecrets = {
  list: secret.get('/admin/webhook-secrets', 'Counts the secrets of each name of the account; none is ever shown.', {
    details:
      'Shows also which webhooks came to its address lately. While it has no app secret of its own, `last_good_at` is that of the ' +
      'address of the installation, which all such accounts share.',
    answers: one(standingSchema),
    examples: [{ says: 'webhook secrets' }],
  }),
  add: secret.put(
    '/admin/webhook-secrets/:name',
    'Adds a secret; the previous one stays valid beside it until it is removed.',
    {
      details: 'An older one is removed. In force within a second. Sent again it changes nothing.',
      act: 'webhook.add_secret',
      body: z.strictObject({ secret: webhookSecretSchema }),
      answers: one(countsSchema),
      examples: [{ body: { secret: '0123456789abcdef0123456789abcdef' }, says: 'added' }],
    },
  ),
  remove: secret.delete(
    '/admin/webhook-secrets/:name',
    'Removes the older secret of this name within a second; with `all` every one.',
    {
      act: 'webhook.remove_secret',
      query: z.strictObject({ all: z.enum(['true', 'false']).optional().describe('The newest one too.') }),
      answers: one(countsSchema),
      examples: [{ says: 'removed' }],
    },
  ),
}
