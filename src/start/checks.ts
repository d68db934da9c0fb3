// What is checked once Redis answers and before anything is served or sent: the Redis itself, the senders it holds, and the
// keys that its numbers and texts are sealed with.

import { sortSenders } from '../accounts/senders.ts'
import { hasWebhookSecret } from '../accounts/webhook-secrets.ts'
import { type Config, ConfigError } from '../kernel/config.ts'
import { isPlainAddress } from '../kernel/config-checks.ts'
import type { Log } from '../kernel/log.ts'
import { shownRedis } from '../kernel/redis-address.ts'
import { connectWithRetry, openOrThrow, type Redis } from '../redis/connect.ts'
import { noteDataKeys } from '../redis/data-keys.ts'
import { nameInstallation } from '../redis/installation.ts'
import { migrate } from '../redis/migrations.ts'
import { StartError } from './start-error.ts'

const PING_LIMIT_MS = 5_000
const NAMED_MAX = 20

/** Throws a StartError when the Redis of REDIS_URL does not answer. The sentence leaves out the password. */
export async function pingRedis(redisUrl: string): Promise<void> {
  try {
    const redis = await openOrThrow(redisUrl, PING_LIMIT_MS)
    redis.disconnect()
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error)
    throw new StartError(`The Redis of REDIS_URL (${shownRedis(redisUrl)}) does not answer: ${cause}.`)
  }
}

/**
 * Brings the layout of a Redis up to date and checks what it holds: its senders in production, the keys of its data
 * always. Waits for it as long as it takes.
 */
export async function checkData(
  config: Pick<Config, 'production' | 'cloudApi' | 'dataKeys' | 'retentionMs'>,
  redisUrl: string,
  log: Log,
): Promise<void> {
  const redis = connectWithRetry(redisUrl)
  redis.on('error', () => undefined)
  try {
    await migrate(redis)
    await nameInstallation(redis)
    const faults = config.production ? await senderFaults(config, redis, log) : []
    if (faults.length > 0) throw new ConfigError(faults.join(' '))
    await noteDataKeys(redis, config.dataKeys, { retentionMs: config.retentionMs, nowMs: Date.now() })
  } finally {
    redis.disconnect()
  }
}

/**
 * One sentence for senders whose tokens would be sent in clear, one for those whose webhooks nobody could verify. A broken record
 * is only logged: its lane sends nothing, and the others need not wait for it.
 */
async function senderFaults({ cloudApi }: Pick<Config, 'cloudApi'>, redis: Redis, log: Log): Promise<string[]> {
  const faults: string[] = []
  const { senders: all, broken } = await sortSenders(redis)
  for (const { lane, error } of broken) log.warn({ lane, err: error }, 'sender.unreadable')
  const plain = all.filter((sender) => isPlainAddress(sender.base_url))
  if (plain.length > 0) {
    faults.push(
      `LANEWAY_ENV is production: the base URL of ${named(plain)} begins with http://, so their tokens would be sent in clear; ` +
        'give them one with https:// (`senders renew`).',
    )
  }
  if (cloudApi.appSecret !== undefined) return faults
  const unverified = []
  for (const sender of all.filter(({ provider }) => provider === 'cloud-api')) {
    if (!(await hasWebhookSecret(redis, sender.account))) unverified.push(sender)
  }
  if (unverified.length > 0) {
    faults.push(
      `LANEWAY_ENV is production: nothing verifies the webhooks of ${named(unverified)}; ` +
        'set LANEWAY_CLOUD_API_APP_SECRET, or a secret of their account (`accounts set <id> webhook.app_secret -`).',
    )
  }
  return faults
}

function named(senders: readonly { id: number }[]): string {
  const ids = senders.slice(0, NAMED_MAX).map(({ id }) => String(id))
  return `${senders.length === 1 ? 'sender' : 'senders'} ${ids.join(', ')}${senders.length > NAMED_MAX ? ' and others' : ''}`
}
