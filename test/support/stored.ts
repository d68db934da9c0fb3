// What stands in a Redis, as text: for tests of what must not be there, and of what must not have changed.
import type { Redis } from '../../src/redis/connect.ts'

/** Every key that matches and what it holds, as JSON. */
export async function stored(redis: Redis, pattern = '*'): Promise<Record<string, string>> {
  const keys = (await redis.keys(pattern)).sort()
  const values = await Promise.all(keys.map(async (key) => JSON.stringify(await contentOf(redis, key))))
  return Object.fromEntries(keys.map((key, i) => [key, values[i] ?? '']))
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'string':
      return redis.get(key)
    case 'hash':
      return redis.hgetall(key)
    case 'list':
      return redis.lrange(key, 0, -1)
    case 'set':
      return (await redis.smembers(key)).sort()
    case 'zset':
      return redis.zrange(key, '0', '-1', 'WITHSCORES')
    case 'stream':
      return redis.xrange(key, '-', '+')
    default:
      return undefined
  }
}
