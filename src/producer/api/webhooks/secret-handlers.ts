// Secrets of an account's cloud-api webhooks.
import type { Seal } from '../../../accounts/seal.ts'
import { addWebhookSecret, countWebhookSecrets, removeWebhookSecrets } from '../../../accounts/store/webhook-secrets.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { webhookSecrets } from './secret-routes.ts'

/** The routes of routes/webhook-secrets.ts. */
export const webhookSecretRoutes = ({ redis, seal }: { redis: Redis; seal: Seal }): Route[] =>
  bind(webhookSecrets)({
    async list({ caller: { account } }) {
      return { body: { status: true, message: 'webhook secrets', data: await countWebhookSecrets(redis, account) } }
    },
    async add({ caller: { account }, params, body }) {
      await addWebhookSecret(redis, seal, account, params.name, body.secret)
      return { body: { status: true, message: 'added', data: await countWebhookSecrets(redis, account) } }
    },
    async remove({ caller: { account }, params, query, note }) {
      const removed = await removeWebhookSecrets(redis, account, params.name, query.all === 'true')
      if (removed === 0) note('nothing')
      return { body: { status: true, message: 'removed', data: await countWebhookSecrets(redis, account) } }
    },
  })
