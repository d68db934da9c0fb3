// Redis' clock, which all processes share. Each server of a cluster has its own, and they may disagree by minutes: a time
// is read from the server that has the key which it is written to, or compared with.
import { z } from 'zod'
import { deadlineIn, isOver } from '../kernel/deadline.ts'
import type { Redis } from './connect.ts'
import { rootKeys } from './keys.ts'
import { defineScript } from './lua.ts'
import { assertTrusted } from './trusted-clock.ts'

const clockScript = defineScript(import.meta.url, 'clock')
const clockReply = z.tuple([z.coerce.number(), z.coerce.number()])

/** The clock of the server that has the key `near`, epoch ms; without one that of a server that is always the same. */
export const redisNowMs = async (redis: Redis, near = rootKeys.workers): Promise<number> =>
  Math.floor((await redisNowMicros(redis, near)) / 1_000)

/** The same for what takes something away by the time: rejects while that clock is not believed, as while Redis is away. */
export async function trustedRedisNowMs(redis: Redis, near = rootKeys.workers): Promise<number> {
  const nowMs = await redisNowMs(redis, near)
  assertTrusted(redis, near, nowMs)
  return nowMs
}

/** The same, epoch µs. */
export async function redisNowMicros(redis: Redis, near: string): Promise<number> {
  const [seconds, micros] = clockReply.parse(await clockScript(redis, { near }))
  return seconds * 1_000_000 + micros
}

const ASKED_EVERY_MS = 1_000

/**
 * The same for frequent callers: Redis is read about once a second, and `performance.now()` measures how its time goes
 * on, so that it does not matter when the clock of the machine is set. Never ahead of Redis.
 */
export function runningRedisClock(redis: Redis, near: string): () => Promise<number> {
  let aheadMs = 0
  let askAgainAt = deadlineIn(Number.NEGATIVE_INFINITY)
  return async () => {
    if (isOver(askAgainAt)) {
      const redisMs = await redisNowMs(redis, near)
      aheadMs = redisMs - performance.now()
      askAgainAt = deadlineIn(ASKED_EVERY_MS)
    }
    return Math.floor(performance.now() + aheadMs)
  }
}
