// Whether the clock of Redis can be believed. Messages expire by it, caps and budgets end by it, and kept things are deleted
// by it. When it is set ahead or back by hours or days, nothing of that may happen before somebody has checked: a step that
// takes something away by the time is refused with the word CLOCK, which is like a Redis that is away for a while. What only
// writes down what has happened goes on.
//
// The clock is trusted again when it is back, when a person orders it (`lanes trust-clock`), or after an hour: then it is
// more likely to be right than the one it was compared with.
//
// Each part compares it with the time that its own machine has been up, which nobody sets and which goes on while a machine
// is suspended. What was found is in Redis, for parts that start meanwhile.
import { uptime } from 'node:os'
import type { Log } from '../kernel/log.ts'
import { HOUR_MS } from '../kernel/time-units.ts'
import { isCluster, primariesOf, type Redis, serverOf } from './connect.ts'
import { replyError } from './errors.ts'
import { clockDoubtKey } from './keys.ts'

/** Smaller errors are accepted: nothing waits longer than this because of them. */
export const LEAP_MS = 2 * HOUR_MS
/** Doubts last so long unless a person ends them. */
export const DOUBT_MS = HOUR_MS
/** How often each part checks it. */
export const CLOCK_CHECK_MS = 10_000

/** What is known of the clock of one server. */
interface Known {
  /** Its time (ms) at the last check, as far as it is believed, and the time that this machine had been up then. */
  redisMs: number
  upMs: number
  /** Its time less `performance.now()`, which is quicker to ask than the time that the machine has been up. */
  aheadMs: number
  /** By how much it is off (ms); 0 where it is believed. */
  offMs: number
}

const known = new WeakMap<Redis, Map<string, Known>>()

const upMs = (): number => uptime() * 1_000

/** What the clock of the key's server should show now (ms); undefined before the first reading. */
export function expectedRedisMs(redis: Redis, key: string): number | undefined {
  const found = known.get(redis)?.get(serverOf(redis, key))
  return found && performance.now() + found.aheadMs
}

/** Throws, as a script of the server would, when this time of the key's server cannot be believed. */
export function assertTrusted(redis: Redis, key: string, nowMs: number): void {
  if (Math.abs(nowMs - (expectedRedisMs(redis, key) ?? nowMs)) > LEAP_MS) {
    throw replyError('CLOCK The clock of Redis has leapt')
  }
}

/** By how much (ms) the clock of a server is off; 0 while all of them are believed. */
export const clockOffMs = (redis: Redis): number =>
  [...(known.get(redis)?.values() ?? [])].find(({ offMs }) => offMs !== 0)?.offMs ?? 0

/** Checks the clock of each server that takes writes, and logs when it has leapt and when it is believed again. */
export async function checkClock(redis: Redis, log: Log, up = upMs): Promise<void> {
  const servers = known.get(redis) ?? new Map<string, Known>()
  known.set(redis, servers)
  for (const node of primariesOf(redis)) {
    const server = isCluster(redis) ? `${node.options.host}:${node.options.port}` : ''
    const [seconds, micros] = await node.time()
    const now = { redisMs: Number(seconds) * 1_000 + Number(micros) / 1_000, upMs: up() }
    servers.set(server, await judged(redis, server, servers.get(server), now, log))
  }
}

async function judged(
  redis: Redis,
  server: string,
  before: Known | undefined,
  { redisMs, upMs: nowUp }: { redisMs: number; upMs: number },
  log: Log,
): Promise<Known> {
  const doubt = clockDoubtKey(server)
  const believed = (ms: number, offMs = 0): Known => ({
    ...{ redisMs: ms, upMs: nowUp, offMs },
    aheadMs: ms - performance.now(),
  })
  if (before === undefined) {
    // Others may have found it wrong already.
    const offMs = await doubtedMs(redis, doubt)
    return believed(redisMs - offMs, offMs)
  }
  const expectedMs = before.redisMs + nowUp - before.upMs
  const offMs = redisMs - expectedMs
  const isDoubted = before.offMs !== 0
  if (Math.abs(offMs) <= LEAP_MS) {
    if (isDoubted) {
      // Of all parts that doubted, the first logs it; so it is with the leap. The doubt about a clock that was behind has expired
      // when it was set right: each part logs that.
      const isFirst = (await redis.del(doubt)) === 1 || before.offMs < 0
      if (isFirst) log.warn({ server }, 'redis.clock_back')
    }
    return believed(redisMs)
  }
  if (!isDoubted) {
    const isFirst = (await redis.set(doubt, Math.round(offMs), 'PX', DOUBT_MS, 'NX')) === 'OK'
    if (isFirst) log.error({ server, by_seconds: Math.round(offMs / 1_000) }, 'redis.clock_leapt')
  } else if ((await redis.exists(doubt)) === 0) {
    log.warn({ server, by_seconds: Math.round(offMs / 1_000) }, 'redis.clock_trusted')
    return believed(redisMs)
  }
  return believed(expectedMs, offMs)
}

/**
 * By how much (ms) others found the clock off; 0 where it is believed. A doubt that lasts longer than any doubt does was written
 * before the clock was set back, as by somebody who stopped everything for that: then nobody was left to end it, and it would
 * last for as many days as the clock was ahead.
 */
async function doubtedMs(redis: Redis, doubt: string): Promise<number> {
  const [offMs, endsInMs] = await Promise.all([redis.get(doubt), redis.pttl(doubt)])
  if (offMs === null) return 0
  const backMs = Math.max(0, endsInMs - DOUBT_MS)
  const stillOffMs = Math.round(Number(offMs) - backMs)
  if (Math.abs(stillOffMs) <= LEAP_MS) {
    await redis.del(doubt)
    return 0
  }
  if (backMs > 0) await redis.set(doubt, stillOffMs, 'PX', DOUBT_MS)
  return stillOffMs
}

/** Ends all doubts: every part believes the clocks at its next check. By how much (ms) they were off. */
export async function trustClock(redis: Redis): Promise<number[]> {
  const servers = isCluster(redis) ? primariesOf(redis).map(({ options: { host, port } }) => `${host}:${port}`) : ['']
  const found = await Promise.all(servers.map((server) => redis.getdel(clockDoubtKey(server))))
  return found.flatMap((offMs) => (offMs === null ? [] : [Number(offMs)]))
}
