// A private Redis for a test, in a folder that goes with it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { startRedisCluster } from '../testbed/redis-cluster.ts'
import { type RedisServer, startRedisServer } from '../testbed/redis-server.ts'

/** A Redis server of one's own. `stop` removes its files as well; stopping twice does no harm. */
export type TestRedis = RedisServer

/**
 * With LANEWAY_TEST_REDIS=cluster the tests run on a cluster of three primaries: every step must keep to one slot.
 * Killing, freezing and restarting it then means all of them.
 */
const ON_CLUSTER = process.env.LANEWAY_TEST_REDIS === 'cluster'

/** Starts a Redis and waits until it takes connections. */
export async function startRedis(): Promise<TestRedis> {
  const dir = mkdtempSync(join(tmpdir(), 'laneway-redis-'))
  const server = ON_CLUSTER ? await startAsOne(dir) : await startRedisServer(dir)
  return {
    ...server,
    async stop() {
      await server.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

async function startAsOne(dir: string): Promise<RedisServer> {
  const { url, servers, settled } = await startRedisCluster(dir)
  const all = (work: (server: RedisServer) => Promise<void>) => Promise.all(servers.map(work)).then(() => undefined)
  return {
    url,
    dir,
    port: servers[0]?.port ?? 0,
    pid: () => servers[0]?.pid() ?? 0,
    isRunning: () => servers.every((server) => server.isRunning()),
    kill9: () => all((server) => server.kill9()),
    stop: () => all((server) => server.stop()),
    async restart() {
      await all((server) => server.restart())
      await settled()
    },
    freeze() {
      for (const server of servers) server.freeze()
    },
    wake() {
      for (const server of servers) server.wake()
    },
  }
}

/** A connection that is lost for good after so many commands. */
export async function dyingAfter(url: string, commands: number): Promise<Redis> {
  const own = connectWithRetry(url)
  own.on('error', () => {})
  await own.ping()
  let left = commands
  interceptCommands(own, (send) => {
    left -= 1
    if (left === -1) own.disconnect()
    return send()
  })
  return own
}

/**
 * The same right before the write that follows so many writes. What only reads changes nothing that another process finds, so
 * these are all states in which a process can leave Redis.
 */
export async function dyingAfterWrites(url: string, writes: number): Promise<Redis> {
  const own = connectWithRetry(url)
  own.on('error', () => {})
  await own.ping()
  let left = writes
  const send = own.sendCommand
  Reflect.set(own, 'sendCommand', (...args: Parameters<typeof send>) => {
    const isWrite = !READS.has(args[0].name.toLowerCase())
    if (isWrite) left -= 1
    if (isWrite && left === -1) own.disconnect()
    return Reflect.apply(send, own, args)
  })
  return own
}

/** After how many of its writes the work has changed something each time; most removals find nothing. */
export async function changesOf(url: string, work: (redis: Redis) => Promise<unknown>): Promise<number[]> {
  const own = connectWithRetry(url)
  const changed: number[] = []
  let writes = 0
  const send = own.sendCommand
  Reflect.set(own, 'sendCommand', (...args: Parameters<typeof send>) => {
    const [command] = args
    const name = command.name.toLowerCase()
    if (!READS.has(name)) {
      writes += 1
      const at = writes
      command.promise.then(
        (reply: unknown) => (REMOVALS.has(name) && reply === 0) || changed.push(at),
        () => changed.push(at),
      )
    }
    return Reflect.apply(send, own, args)
  })
  await work(own)
  own.disconnect()
  return changed.sort((a, b) => a - b)
}
/** They return how many they have removed. */
const REMOVALS = new Set(['del', 'hdel', 'srem', 'unlink', 'zrem'])
/** Every other command is taken for one that writes, scripts too. */
const READS = new Set([
  ...[
    'exists',
    'get',
    'hexists',
    'hget',
    'hgetall',
    'hkeys',
    'hlen',
    'hmget',
    'hscan',
    'hvals',
    'info',
    'lindex',
    'llen',
  ],
  ...['lrange', 'mget', 'ping', 'pttl', 'scan', 'scard', 'sismember', 'smembers', 'sscan', 'time', 'type', 'xlen'],
  ...['xrange', 'zcard', 'zcount', 'zmscore', 'zrange', 'zrangebyscore', 'zrevrange', 'zscan', 'zscore'],
])

/** Has `intercept` decide about every command of a connection: it sends it, or not. */
export function interceptCommands(redis: Redis, intercept: (send: () => unknown) => unknown): void {
  const send = redis.sendCommand
  Reflect.set(redis, 'sendCommand', (...args: unknown[]) => intercept(() => Reflect.apply(send, redis, args)))
}
