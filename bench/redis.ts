// The Redis of a contender: a private server with the very settings that `npm start` gives its own, every write on
// disk before it is acknowledged.
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { startRedisServer } from '../testbed/redis-server.ts'
import type { Closing } from './closing.ts'

export interface BenchRedis {
  url: string
  client: Redis
  pid: number
}

export async function startRedis(dir: string, closing: Closing): Promise<BenchRedis> {
  const server = await startRedisServer(join(dir, 'redis'))
  closing.add(() => server.stop())
  const client = new Redis(server.url, { protocol: 2, maxRetriesPerRequest: null })
  closing.add(async () => client.disconnect())
  return { url: server.url, client, pid: server.pid() }
}

/** Bytes that the data takes. */
export async function usedMemory(redis: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1])
}
