// Checks the settings of a Redis, at the start and while it runs: what was acknowledged must not be evicted, or be lost in a
// power cut. Also what has happened to it meanwhile: evicted keys, a clock that leapt.

import { Cluster, Redis as SingleRedis } from 'ioredis'
import { z } from 'zod'
import type { Log } from '../kernel/log.ts'
import { HOUR_MS } from '../kernel/time-units.ts'
import { connectWithRetry, named, primariesOf, type Redis, type RedisNode, readyOrLate } from './connect.ts'
import { isHiddenCommand, isRedisAway } from './errors.ts'
import { requiredReplicas } from './replication.ts'
import { clockOffMs } from './trusted-clock.ts'

/** Scripts with flags, and SET with NX and GET together, came with 7.0. */
const OLDEST_MAJOR = 7

/** A Redis that LANEWAY_ENV=production refuses to run on. The message is for the person at the terminal. */
export class UnsafeRedisError extends Error {
  override name = 'UnsafeRedisError'
}

/** What is so of a setting of Redis, and what it must be for nothing to be lost. */
export interface RedisSetting {
  name: string
  ok: boolean
  /** For a person; of a wrong one, what it loses. */
  sentence: string
}

const WANTED: readonly { name: string; expected: string; loses: string }[] = [
  { name: 'maxmemory-policy', expected: 'noeviction', loses: 'when it is full it throws messages away' },
  { name: 'appendonly', expected: 'yes', loses: 'a restart loses messages' },
  { name: 'appendfsync', expected: 'always', loses: 'a power cut loses about a second of messages' },
]

/**
 * The settings of every primary that can lose messages, and whether it has the required replicas.
 * A setting that a managed Redis does not show counts as wrong, since it is unknown. Where there is anything
 * else to say, that follows.
 */
export async function redisSettings(redis: Redis): Promise<RedisSetting[]> {
  const nodes = primariesOf(redis)
  const [settings, losses, stops] = await Promise.all([
    settingsOf(nodes, requiredReplicas(redis)),
    lossesOf(redis),
    stoppingOf(nodes),
  ])
  return [...settings, ...losses, ...stops]
}

/** What Redis has lost already, or is about to lose by its clock. */
async function lossesOf(redis: Redis): Promise<RedisSetting[]> {
  const found: RedisSetting[] = []
  const evicted = await evictedKeys(redis)
  if (evicted > 0) {
    const keys = `${evicted} ${evicted === 1 ? 'key' : 'keys'}`
    const sentence = `Redis has evicted ${keys} since it was started: messages, keys or accounts may be gone.`
    found.push({ name: 'evicted_keys', ok: false, sentence })
  }
  const offMs = clockOffMs(redis)
  if (offMs !== 0) {
    const by = `${(Math.abs(offMs) / HOUR_MS).toFixed(1)} hours ${offMs > 0 ? 'ahead' : 'back'}`
    const sentence =
      `The clock of Redis has leapt ${by}: nothing is sent or expires until it is right, or for an hour. ` +
      'If it is right now, run lanes trust-clock.'
    found.push({ name: 'clock', ok: false, sentence })
  }
  return found
}

/** How many keys all primaries have evicted since they were started. */
export async function evictedKeys(redis: Redis): Promise<number> {
  const infos = await Promise.all(primariesOf(redis).map((node) => node.info('stats')))
  return infos.reduce((sum, info) => sum + bytesOf(info, 'evicted_keys'), 0)
}

/** Settings by which a snapshot that fails, as on a full disk, makes Redis refuse every write. Hidden ones are left out. */
async function stoppingOf(nodes: readonly RedisNode[]): Promise<RedisSetting[]> {
  const found = await Promise.all(nodes.map((node) => readConfig(node).catch(() => new Map<string, string>())))
  const isStopping = found.some(
    (config) => config.get('stop-writes-on-bgsave-error') === 'yes' && (config.get('save') ?? '') !== '',
  )
  if (!isStopping) return []
  const sentence =
    'Redis has save set and stop-writes-on-bgsave-error yes: a snapshot that fails stops everything. ' +
    'Set save "": the append-only file keeps all.'
  return [{ name: 'save', ok: false, sentence }]
}

async function settingsOf(nodes: readonly RedisNode[], replicas = 0): Promise<RedisSetting[]> {
  const found = await Promise.all(
    nodes.map(async (node) => {
      if (nodes.length === 1) return nodeSettings(node, 'Redis', replicas)
      return nodeSettings(node, `Redis at ${node.options.host}:${node.options.port}`, replicas).catch(
        (error: unknown) => {
          // One of many that is away answers nothing, and the others go on.
          if (!isRedisAway(error) || isHiddenCommand(error)) throw error
          return []
        },
      )
    }),
  )
  return found.flat()
}

async function nodeSettings(redis: RedisNode, of: string, replicas: number): Promise<RedisSetting[]> {
  const [info, config] = await Promise.all([redis.info(), readConfig(redis)])
  const major = Number(/^redis_version:(\d+)/m.exec(info)?.[1] ?? 0)
  const isNew = major >= OLDEST_MAJOR
  const version = isNew
    ? `${of} is version ${major}.`
    : `${of} is version ${major}; Laneway needs 7.0 or newer, or Valkey.`
  return [
    { name: 'version', ok: isNew, sentence: version },
    ...WANTED.map(({ name, expected, loses }) => {
      const got = config.get(name)
      return got === expected
        ? { name, ok: true, sentence: `${of} has ${name} ${expected}.` }
        : { name, ok: false, sentence: `${of} has ${name} ${got ?? 'hidden'}, not ${expected}: ${loses}.` }
    }),
    ...(replicas === 0 ? [] : [replicasOf(info, of, replicas)]),
  ]
}

/** Without them nothing is acknowledged, and nothing else shows why: the server itself answers. */
function replicasOf(info: string, of: string, wanted: number): RedisSetting {
  const online = info.match(/^slave\d+:.*\bstate=online\b/gm)?.length ?? 0
  const sentence = `${of} has ${online} of the ${wanted} replicas that LANEWAY_REDIS_MIN_REPLICAS asks for`
  return online >= wanted
    ? { name: 'replicas', ok: true, sentence: `${sentence}.` }
    : { name: 'replicas', ok: false, sentence: `${sentence}: nothing is accepted or sent there.` }
}

/** Sentences about what can lose messages or has lost them, each with what mends it; none when all is well. */
export async function redisProblems(redis: Redis): Promise<string[]> {
  const [settings, losses] = await Promise.all([
    settingsOf(primariesOf(redis), requiredReplicas(redis)),
    lossesOf(redis),
  ])
  return wrongOf([...settings, ...losses])
}

/** A sentence for each wrong setting. */
export const wrongOf = (settings: readonly RedisSetting[]): string[] =>
  settings.flatMap(({ ok, sentence }) => (ok ? [] : [sentence]))

/** Whether Redis refuses writes for want of memory. What it does not count itself is not counted here either. */
export function isFull(info: string): boolean {
  const most = bytesOf(info, 'maxmemory')
  return most > 0 && bytesOf(info, 'used_memory') - bytesOf(info, 'mem_not_counted_for_evict') > most
}

/** A number of bytes out of the answer to INFO; 0 when it is not there. */
const bytesOf = (info: string, name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)

/** Bytes used and their limit, of all primaries together, and whether one of them is full. */
export async function memoryOf(redis: Redis): Promise<{ usedBytes: number; limitBytes: number; isFull: boolean }> {
  const infos = await Promise.all(primariesOf(redis).map((node) => node.info('memory')))
  const sum = (name: string) => infos.reduce((bytes, info) => bytes + bytesOf(info, name), 0)
  return { usedBytes: sum('used_memory'), limitBytes: sum('maxmemory'), isFull: infos.some(isFull) }
}

/** The share of its memory (%) that the primary has left which has least; 100 where none has a limit. */
export async function memoryLeft(redis: Redis): Promise<number> {
  const infos = await Promise.all(primariesOf(redis).map((node) => node.info('memory')))
  const left = infos.map((info) => {
    const most = bytesOf(info, 'maxmemory')
    const used = bytesOf(info, 'used_memory') - bytesOf(info, 'mem_not_counted_for_evict')
    return most === 0 ? 100 : Math.max(0, (100 * (most - used)) / most)
  })
  return Math.min(100, ...left)
}

/**
 * Waits until the Redis answers, however long that takes, and checks every server of it, replicas too, for each may be
 * the primary tomorrow: an unsafe one is refused in production, and otherwise each problem is logged. A full one
 * is no reason to stay away: what is there can still be looked up, and work goes on once there is memory.
 */
export async function checkRedis(redisUrl: string, production: boolean, log: Log): Promise<void> {
  const redis = connectWithRetry(redisUrl)
  redis.on('error', (error) => log.warn({ err: error }, 'redis.error'))
  try {
    await readyOrLate(redis, Number.POSITIVE_INFINITY)
    const nodes = await everyNode(redis)
    const [settings, stops] = await Promise.all([settingsOf(nodes.all), stoppingOf(nodes.all)]).finally(nodes.close)
    const problems = wrongOf(settings)
    if (production && problems.length > 0) throw new UnsafeRedisError(problems.join(' '))
    for (const problem of [...problems, ...wrongOf(stops)]) log.warn({ problem }, 'redis.unsafe')
    if ((await memoryOf(redis)).isFull) log.error('redis.full')
  } finally {
    redis.disconnect()
  }
}

/** Settings that together can stop Redis. */
const STOPPING = ['save', 'stop-writes-on-bgsave-error']

const configReply = z.array(z.string())

async function readConfig(redis: RedisNode): Promise<ReadonlyMap<string, string>> {
  try {
    const reply = configReply.parse(await redis.call('CONFIG', 'GET', ...WANTED.map(({ name }) => name), ...STOPPING))
    return new Map(reply.flatMap((name, at) => (at % 2 === 0 ? [[name, reply[at + 1] ?? ''] as const] : [])))
  } catch (error) {
    if (isHiddenCommand(error)) return new Map()
    throw error
  }
}

/** How long one server may take. */
const LIMIT_MS = 5_000

/** All servers behind a connection, replicas too; `close` ends the connections that were opened for them. */
async function everyNode(redis: Redis): Promise<{ all: RedisNode[]; close: () => void }> {
  if (redis instanceof Cluster) {
    const copy = redis.duplicate()
    copy.on('error', () => {})
    if (copy.status !== 'ready') await new Promise<void>((resolve) => copy.once('ready', () => resolve()))
    return { all: copy.nodes('all'), close: () => copy.disconnect() }
  }
  // For a single server it is unknown whether its replicas can be reached from here, or one takes over.
  if (!redis.options.sentinels) return { all: [redis], close: () => {} }
  const { tls, username, password } = redis.options
  const access = { ...named('username', username ?? undefined), ...named('password', password ?? undefined) }
  const found = (await redis.info('replication')).matchAll(/^slave\d+:ip=([^,]+),port=(\d+),state=online/gm)
  const replicas = [...found].map(([, host = '', port = '']) => {
    const replica = new SingleRedis(Number(port), host, {
      ...{ ...access, ...(tls ? { tls } : {}), protocol: 2 },
      ...{ connectTimeout: LIMIT_MS, commandTimeout: LIMIT_MS, maxRetriesPerRequest: 1 },
    })
    // The command that it hits reports it.
    replica.on('error', () => {})
    return replica
  })
  const close = () => {
    for (const replica of replicas) replica.disconnect()
  }
  return { all: [redis, ...replicas], close }
}
