// Secrets of an account's cloud-api webhooks. Two of each are good at a time, so that one is changed without a webhook lost.
import { z } from 'zod'
import { WEBHOOK_SECRETS, WEBHOOK_SECRETS_MAX, webhookSecretSchema } from '../../../accounts/webhook-secrets.ts'
import { route } from '../../route.ts'
import { doneWith } from '../answers.ts'

const access = { in: 'bearer', permission: 'admin' } as const
const params = z.object({ name: z.enum(WEBHOOK_SECRETS) })

const countField = z.int().min(0).max(WEBHOOK_SECRETS_MAX).describe('How many are good at the moment.')
const countsSchema = z.strictObject({ 'webhook.app_secret': countField, 'webhook.verify_token': countField })
countsSchema.register(z.globalRegistry, { id: 'WebhookSecrets' })

const example = { params: { name: 'webhook.app_secret' }, status: 200 }

export const webhookSecrets = {
  list: route({
    method: 'get',
    path: '/admin/webhook-secrets',
    summary: 'Tells how many secrets of each name the account has; none is ever shown.',
    access,
    body: { as: 'ignored' },
    answers: { 200: doneWith(countsSchema) },
    examples: [
      {
        status: 200,
        answer: {
          status: true,
          message: 'webhook secrets',
          data: { 'webhook.app_secret': 1, 'webhook.verify_token': 1 },
        },
      },
    ],
  }),
  add: route({
    method: 'put',
    path: '/admin/webhook-secrets/:name',
    summary: 'Adds a secret; the one before stays good beside it until it is removed, an older one is forgotten.',
    details: 'In force within a second. Sent again it changes nothing.',
    access,
    act: 'webhook.add_secret',
    params,
    body: { as: 'json', schema: z.strictObject({ secret: webhookSecretSchema }) },
    answers: { 200: doneWith(countsSchema) },
    examples: [
      {
        ...example,
        body: { secret: '0123456789abcdef0123456789abcdef' },
        answer: { status: true, message: 'added', data: { 'webhook.app_secret': 2, 'webhook.verify_token': 1 } },
      },
    ],
  }),
  remove: route({
    method: 'delete',
    path: '/admin/webhook-secrets/:name',
    summary: 'Removes the older secret of this name, which ends within a second; with `all` every one.',
    access,
    act: 'webhook.remove_secret',
    params,
    query: z.strictObject({ all: z.enum(['true', 'false']).optional() }),
    body: { as: 'ignored' },
    answers: { 200: doneWith(countsSchema) },
    examples: [
      {
        ...example,
        answer: { status: true, message: 'removed', data: { 'webhook.app_secret': 1, 'webhook.verify_token': 1 } },
      },
    ],
  }),
}
