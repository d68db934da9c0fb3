// Whether this process has the keys under which numbers and texts in Redis are sealed: it can be known only once Redis
// answers.
import type { Config } from '../config.ts'
import { noteDataKeys } from '../messages/store/data-keys.ts'
import { connectWithRetry } from '../redis/connect.ts'

/** Throws a DataKeyError that names the key that is missing. */
export async function checkDataKeys(
  { dataKeys, retentionMs }: Pick<Config, 'dataKeys' | 'retentionMs'>,
  redisUrl: string,
): Promise<void> {
  const redis = connectWithRetry(redisUrl)
  redis.on('error', () => undefined)
  try {
    await noteDataKeys(redis, dataKeys, { retentionMs, nowMs: Date.now() })
  } finally {
    redis.disconnect()
  }
}
