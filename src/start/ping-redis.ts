// Before anything is started on somebody's Redis: is it there?
import { Redis } from 'ioredis'
import { shownRedis, socketPath } from '../redis-socket.ts'
import { StartError } from './start-error.ts'

const LIMIT_MS = 5_000

/** Throws a StartError when the Redis of REDIS_URL does not answer. The sentence leaves out the password. */
export async function pingRedis(redisUrl: string): Promise<void> {
  const redis = new Redis(socketPath(redisUrl) ?? redisUrl, {
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: LIMIT_MS,
    commandTimeout: LIMIT_MS,
  })
  let reason = ''
  redis.on('error', (error) => {
    reason = error.message
  })
  try {
    await redis.connect()
    await redis.ping()
  } catch (error) {
    const cause = reason || (error instanceof Error ? error.message : String(error))
    throw new StartError(`The Redis of REDIS_URL (${shownRedis(redisUrl)}) does not answer: ${cause}.`)
  } finally {
    redis.disconnect()
  }
}
