// Whether a Redis keeps the promises that Laneway builds on: nothing that was acknowledged may be evicted, or be lost
// when the power goes.
import { z } from 'zod'
import type { Log } from '../log.ts'
import { connectWithRetry, type Redis } from './connect.ts'
import { isHiddenCommand } from './errors.ts'

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
 * How the settings stand that can lose messages. What a managed Redis does not let be asked is taken as wrong, since
 * nobody can know it is right.
 */
export async function redisSettings(redis: Redis): Promise<RedisSetting[]> {
  const [info, config] = await Promise.all([redis.info(), readConfig(redis)])
  const major = Number(/^redis_version:(\d+)/m.exec(info)?.[1] ?? 0)
  const isNew = major >= OLDEST_MAJOR
  const version = isNew
    ? `Redis is version ${major}.`
    : `Redis is version ${major}; Laneway needs 7.0 or newer, or Valkey.`
  return [
    { name: 'version', ok: isNew, sentence: version },
    ...WANTED.map(({ name, expected, loses }) => {
      const got = config.get(name)
      return got === expected
        ? { name, ok: true, sentence: `Redis has ${name} ${expected}.` }
        : { name, ok: false, sentence: `Redis has ${name} ${got ?? 'hidden'}, not ${expected}: ${loses}.` }
    }),
  ]
}

/** Sentences about settings that can lose messages, each with what mends it; none when all is well. */
export const redisProblems = async (redis: Redis): Promise<string[]> =>
  (await redisSettings(redis)).flatMap(({ ok, sentence }) => (ok ? [] : [sentence]))

/** Whether Redis refuses writes for want of memory. What it does not count itself is not counted here either. */
export function isFull(info: string): boolean {
  const most = bytesOf(info, 'maxmemory')
  return most > 0 && bytesOf(info, 'used_memory') - bytesOf(info, 'mem_not_counted_for_evict') > most
}

/** A number of bytes out of the answer to INFO; 0 when it is not there. */
export const bytesOf = (info: string, name: string): number =>
  Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)

/**
 * Waits until the Redis answers, however long that takes, and checks it: an unsafe one is refused in production, and
 * otherwise each problem is logged. A full one is no reason to stay away: what is there can still be looked up, and
 * work goes on once there is memory.
 */
export async function checkRedis(redisUrl: string, production: boolean, log: Log): Promise<void> {
  const redis = connectWithRetry(redisUrl)
  redis.on('error', (error) => log.warn({ err: error }, 'redis.error'))
  try {
    const problems = await redisProblems(redis)
    if (production && problems.length > 0) throw new UnsafeRedisError(problems.join(' '))
    for (const problem of problems) log.warn({ problem }, 'redis.unsafe')
    if (isFull(await redis.info('memory'))) log.error('redis.full')
  } finally {
    redis.disconnect()
  }
}

const configReply = z.array(z.string())

async function readConfig(redis: Redis): Promise<ReadonlyMap<string, string>> {
  try {
    const reply = configReply.parse(await redis.call('CONFIG', 'GET', 'maxmemory-policy', 'appendonly', 'appendfsync'))
    return new Map(reply.flatMap((name, at) => (at % 2 === 0 ? [[name, reply[at + 1] ?? ''] as const] : [])))
  } catch (error) {
    if (isHiddenCommand(error)) return new Map()
    throw error
  }
}
