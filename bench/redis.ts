// The Redis of a contender: a private server with the very settings that `npm start` gives its own, every write on
// disk before it is acknowledged.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { startPrivateRedis } from '../src/start/private-redis.ts'
import type { Closing } from './closing.ts'

export interface BenchRedis {
  url: string
  client: Redis
  pid: number
}

export async function startRedis(dir: string, closing: Closing): Promise<BenchRedis> {
  mkdirSync(join(dir, 'redis'), { recursive: true })
  const server = await startPrivateRedis(dir, pino({ level: 'silent' }))
  closing.add(() => server.stop())
  const client = new Redis(server.url, { protocol: 2, maxRetriesPerRequest: null })
  closing.add(async () => client.disconnect())
  const pid = Number(/process_id:(\d+)/.exec(await client.info('server'))?.[1])
  return { url: server.url, client, pid }
}

/** Bytes that the data takes. */
export async function usedMemory(redis: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1])
}
