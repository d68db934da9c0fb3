// Whether a Redis keeps the promises that Laneway builds on: nothing that was acknowledged may be evicted, or be lost
// when the power goes.
import { z } from 'zod'
import type { Log } from '../log.ts'
import { connectWithRetry, primariesOf, type Redis, type RedisNode, readyOrLate } from './connect.ts'
import { isHiddenCommand } from './errors.ts'
import { everyNode } from './every-node.ts'

/** Scripts with flags, and SET with NX and GET together, came with 7.0. */
const OLDEST_MAJOR = 7

/** A Redis that LANEWAY_ENV=production refuses to run on. The message is for the person at the terminal. */
export class UnsafeRedisError extends Error {
  override name = 'UnsafeRedisError'
}

/**
 * Sentences about settings that can lose messages, each with the setting that fixes it; none when all is well. What a
 * managed Redis does not let be asked is taken as wrong, since nobody can know it is right. Every primary is asked.
 */
export const redisProblems = (redis: Redis): Promise<string[]> => problemsOf(primariesOf(redis))

async function problemsOf(nodes: readonly RedisNode[]): Promise<string[]> {
  const found = await Promise.all(
    nodes.map((node) => nodeProblems(node, nodes.length === 1 ? 'Redis' : `Redis at ${nameOf(node)}`)),
  )
  return found.flat()
}

const nameOf = ({ options: { host, port } }: RedisNode): string => `${host}:${port}`

async function nodeProblems(redis: RedisNode, name: string): Promise<string[]> {
  const [info, config] = await Promise.all([redis.info(), readConfig(redis)])
  const major = Number(/^redis_version:(\d+)/m.exec(info)?.[1] ?? 0)
  const problems: string[] = []
  const wrong = (setting: string, expected: string, loses: string): void => {
    const got = config.get(setting)
    if (got !== expected) problems.push(`${name} has ${setting} ${got ?? 'hidden'}, not ${expected}: ${loses}.`)
  }
  if (major < OLDEST_MAJOR) problems.push(`${name} is version ${major}; Laneway needs 7.0 or newer, or Valkey.`)
  wrong('maxmemory-policy', 'noeviction', 'when it is full it throws messages away')
  wrong('appendonly', 'yes', 'a restart loses messages')
  wrong('appendfsync', 'always', 'a power cut loses about a second of messages')
  return problems
}

/** Whether Redis refuses writes for want of memory. What it does not count itself is not counted here either. */
export function isFull(info: string): boolean {
  const most = bytesOf(info, 'maxmemory')
  return most > 0 && bytesOf(info, 'used_memory') - bytesOf(info, 'mem_not_counted_for_evict') > most
}

/** A number of bytes out of the answer to INFO; 0 when it is not there. */
const bytesOf = (info: string, name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)

/** Bytes used and their limit, of all primaries together. */
export async function memoryOf(redis: Redis): Promise<{ usedBytes: number; limitBytes: number }> {
  const infos = await Promise.all(primariesOf(redis).map((node) => node.info('memory')))
  const sum = (name: string) => infos.reduce((bytes, info) => bytes + bytesOf(info, name), 0)
  return { usedBytes: sum('used_memory'), limitBytes: sum('maxmemory') }
}

/**
 * Waits until the Redis answers, however long that takes, and checks every server of it, replicas too, for each may be
 * the primary tomorrow: an unsafe one is refused in production, and otherwise each problem is logged. A full one is no reason to stay away: what is there can still be looked up, and
 * work goes on once there is memory.
 */
export async function checkRedis(redisUrl: string, production: boolean, log: Log): Promise<void> {
  const redis = connectWithRetry(redisUrl)
  redis.on('error', (error) => log.warn({ err: error }, 'redis.error'))
  try {
    await readyOrLate(redis, Number.POSITIVE_INFINITY)
    const nodes = await everyNode(redis)
    const problems = await problemsOf(nodes.all).finally(nodes.close)
    if (production && problems.length > 0) throw new UnsafeRedisError(problems.join(' '))
    for (const problem of problems) log.warn({ problem }, 'redis.unsafe')
    const infos = await Promise.all(primariesOf(redis).map((node) => node.info('memory')))
    if (infos.some(isFull)) log.error('redis.full')
  } finally {
    redis.disconnect()
  }
}

const configReply = z.array(z.string())

async function readConfig(redis: RedisNode): Promise<ReadonlyMap<string, string>> {
  try {
    const reply = configReply.parse(await redis.call('CONFIG', 'GET', 'maxmemory-policy', 'appendonly', 'appendfsync'))
    return new Map(reply.flatMap((name, at) => (at % 2 === 0 ? [[name, reply[at + 1] ?? ''] as const] : [])))
  } catch (error) {
    if (isHiddenCommand(error)) return new Map()
    throw error
  }
}
