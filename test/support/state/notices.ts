// What is kept of the notices of an account, for tests of how it ends.
import type { Redis } from '../../../src/redis/connect.ts'
import { noticesKey } from '../../../src/redis/keys.ts'

/** How long each part lives yet (ms), but for the counts of the minute. */
export async function noticesLive(redis: Redis, account: number): Promise<number[]> {
  const index = noticesKey(account)
  const keys = (await redis.keys('*')).filter((key) => key.startsWith(index) && !key.startsWith(`${index}:rate:`))
  return Promise.all(keys.map((key) => redis.pttl(key)))
}

/** The minute in which notices of a kind are counted is over. */
export async function endMinute(redis: Redis, account: number, kind: string): Promise<void> {
  await redis.del(`${noticesKey(account)}:rate:${kind}`)
}
