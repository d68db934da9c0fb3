// The Redis of a contender: private servers with the very settings that `npm start` gives its own, every write on disk
// before it is acknowledged.
import { join } from 'node:path'
import { Redis as Single } from 'ioredis'
import { connectWithRetry, type Redis } from '../src/redis/connect.ts'
import { startRedisCluster } from '../test/testbed/redis-cluster.ts'
import { startRedisServer } from '../test/testbed/redis-server.ts'
import type { Closing } from './closing.ts'
import { until } from './part.ts'

/** One server, one with a replica that follows it, or a cluster of three primaries. */
export type Shape = 'one' | 'replicated' | 'cluster'

export interface BenchRedis {
  url: string
  client: Redis
  /** The server, or the first of them, and all of them. */
  pid: number
  pids: readonly number[]
}

/** `before`: a command to run the server under, where there is one server. */
export async function startRedis(
  dir: string,
  closing: Closing,
  shape: Shape = 'one',
  before: readonly string[] = [],
): Promise<BenchRedis> {
  if (shape === 'cluster') return startCluster(dir, closing)
  const server = await startRedisServer(join(dir, 'redis'), { before })
  closing.add(() => server.stop())
  const client = new Single(server.url, { protocol: 2, maxRetriesPerRequest: null })
  closing.add(async () => client.disconnect())
  const redis = { url: server.url, client, pid: server.pid() }
  if (shape === 'one') return { ...redis, pids: [server.pid()] }
  const replica = await startRedisServer(join(dir, 'replica'), {
    settings: { replicaof: `127.0.0.1 ${server.port}`, 'repl-diskless-sync-delay': '0' },
  })
  closing.add(() => replica.stop())
  await client.config('SET', 'repl-diskless-sync-delay', '0')
  const follows = async () => /slave0:.*state=online/.test(await client.info('replication'))
  await until('the replica follows', 30_000, follows)
  return { ...redis, pids: [server.pid(), replica.pid()] }
}

async function startCluster(dir: string, closing: Closing): Promise<BenchRedis> {
  const cluster = await startRedisCluster(join(dir, 'redis'))
  closing.add(() => cluster.stop())
  const client = connectWithRetry(cluster.url)
  closing.add(async () => client.disconnect())
  const pids = cluster.servers.map((server) => server.pid())
  return { url: cluster.url, client, pid: pids[0] ?? 0, pids }
}

/** Bytes that the data takes; of one server. */
export async function usedMemory(redis: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1])
}

/** Commands that it has run, those that scripts call included; of one server. */
export async function commandsRun(redis: Redis): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1])
}
