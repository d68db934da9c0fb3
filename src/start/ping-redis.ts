// Before anything is started on somebody's Redis: is it there?
import { openOrThrow } from '../redis/connect.ts'
import { shownRedis } from '../redis-socket.ts'
import { StartError } from './start-error.ts'

const LIMIT_MS = 5_000

/** Throws a StartError when the Redis of REDIS_URL does not answer. The sentence leaves out the password. */
export async function pingRedis(redisUrl: string): Promise<void> {
  try {
    const redis = await openOrThrow(redisUrl, LIMIT_MS)
    redis.disconnect()
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error)
    throw new StartError(`The Redis of REDIS_URL (${shownRedis(redisUrl)}) does not answer: ${cause}.`)
  }
}
