// What production refuses about the senders that are there: it can be known only once Redis answers.

import { listSenders } from '../accounts/store/senders.ts'
import { hasWebhookSecret } from '../accounts/store/webhook-secrets.ts'
import type { Config } from '../config.ts'
import { ConfigError } from '../config.ts'
import { isPlainAddress } from '../production.ts'
import type { Redis } from '../redis/connect.ts'
import { connectWithRetry } from '../redis/connect.ts'

const NAMED_MAX = 20

/**
 * Throws a ConfigError that names the senders whose tokens would be sent in clear, and those on cloud-api whose webhooks
 * nobody could verify. Does nothing outside production.
 */
export async function checkSenders(config: Pick<Config, 'production' | 'cloudApi'>, redisUrl: string): Promise<void> {
  if (!config.production) return
  const redis = connectWithRetry(redisUrl)
  redis.on('error', () => undefined)
  try {
    const sentences = await senderFaults(config, redis)
    if (sentences.length > 0) throw new ConfigError(sentences.join(' '))
  } finally {
    redis.disconnect()
  }
}

async function senderFaults({ cloudApi }: Pick<Config, 'cloudApi'>, redis: Redis): Promise<string[]> {
  const all = await listSenders(redis)
  const plain = all.filter((sender) => isPlainAddress(sender.base_url))
  const faults =
    plain.length === 0
      ? []
      : [
          `LANEWAY_ENV is production: the base URL of ${named(plain)} begins with http://, so their tokens would be sent in clear; give them one with https:// (\`senders renew\`).`,
        ]
  if (cloudApi.appSecret !== undefined) return faults
  const deaf = []
  for (const sender of all.filter(({ provider }) => provider === 'cloud-api')) {
    if (!(await hasWebhookSecret(redis, sender.account))) deaf.push(sender)
  }
  if (deaf.length === 0) return faults
  return [
    ...faults,
    `LANEWAY_ENV is production: nothing verifies the webhooks of ${named(deaf)}; set LANEWAY_CLOUD_API_APP_SECRET.`,
  ]
}

function named(senders: readonly { id: number }[]): string {
  const ids = senders.slice(0, NAMED_MAX).map(({ id }) => String(id))
  return `${senders.length === 1 ? 'sender' : 'senders'} ${ids.join(', ')}${senders.length > NAMED_MAX ? ' and others' : ''}`
}
