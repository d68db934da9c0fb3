// Pins: what somebody changes at a Redis that runs, and what it loses, is logged within a minute and shown. Real: Redis.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { nameInstallation } from '../../src/redis/installation.ts'
import { checkRedis, redisProblems, redisSettings } from '../../src/redis/safety.ts'
import { WATCH_MS, watchRedis } from '../../src/telemetry/redis-watch.ts'
import { keptLog } from '../support/app.ts'
import { eventually } from '../support/wait.ts'
import { type RedisServer, startRedisServer } from '../testbed/redis-server.ts'

const dir = mkdtempSync(join(tmpdir(), 'laneway-redis-watch-'))
let server: RedisServer
let redis: Redis
beforeAll(async () => {
  server = await startRedisServer(dir)
  redis = connectWithRetry(server.url)
  await nameInstallation(redis)
  await createAccount(redis, 'Shop')
})
afterAll(async () => {
  redis?.disconnect()
  await server?.stop()
  rmSync(dir, { recursive: true, force: true })
})

const { log, lines } = keptLog()
const logged = (event: string) => lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === event)

/** Watches, with looks that follow each other at once. */
async function watching(work: () => Promise<void>): Promise<void> {
  lines.length = 0
  const watch = watchRedis(redis, log, 20)
  try {
    await work()
  } finally {
    watch.stop()
  }
}

test('each process checks at least once a minute', () => {
  expect(WATCH_MS).toBeLessThanOrEqual(60_000)
})

test('a changed eviction policy is logged once when it changes, and again when it is right', async () => {
  await watching(async () => {
    await eventually(async () => (await redisProblems(redis)).length === 0, 'it is right')
    // The first look has nothing to compare with.
    await eventually(async () => {
      await redis.config('SET', 'maxmemory-policy', 'noeviction')
      if (logged('redis.unsafe').length === 0) await redis.config('SET', 'maxmemory-policy', 'allkeys-random')
      return logged('redis.unsafe').length > 0
    }, 'it is logged')
    await redis.config('SET', 'maxmemory-policy', 'allkeys-random')
    expect(logged('redis.unsafe')[0]).toMatchObject({
      level: 50,
      problem: 'Redis has maxmemory-policy allkeys-random, not noeviction: when it is full it throws messages away.',
    })
    await redis.config('SET', 'maxmemory-policy', 'noeviction')
    await eventually(async () => logged('redis.safe').length > 0, 'it is right again')
  })
})

test('evicted keys are logged, counted and shown', async () => {
  await watching(async () => {
    await redis.config('SET', 'maxmemory-policy', 'volatile-ttl')
    for (let i = 0; i < 50; i += 1) await redis.set(`filler-${i}`, 'x'.repeat(40_000), 'EX', 1_000)
    await redis.config('SET', 'maxmemory', '2mb')
    await redis.set('one more', 'x')
    await eventually(async () => logged('redis.evicted').length > 0, 'it is logged')
    expect(logged('redis.evicted')[0]).toMatchObject({ level: 50, keys: expect.any(Number) })
    await redis.config('SET', 'maxmemory', '0')
    await redis.config('SET', 'maxmemory-policy', 'noeviction')
  })
  expect(await redisSettings(redis)).toContainEqual(
    expect.objectContaining({
      name: 'evicted_keys',
      ok: false,
      sentence: expect.stringMatching(/^Redis has evicted \d+ keys/),
    }),
  )
  expect(await redisProblems(redis)).toHaveLength(1)
})

test('a Redis that comes back without its data is logged', async () => {
  await watching(async () => {
    await eventually(async () => {
      await redis.call('SWAPDB', 0, 1)
      await eventually(async () => logged('redis.other_data').length > 0, 'it is logged', 2_000).catch(() => {})
      await redis.call('SWAPDB', 0, 1)
      return logged('redis.other_data').length > 0
    }, 'it is logged')
  })
})

test('a setting that stops all writes when snapshots fail is logged at the start, which continues in production too', async () => {
  await redis.config('SET', 'save', '3600 1')
  await redis.config('SET', 'stop-writes-on-bgsave-error', 'yes')
  lines.length = 0
  await checkRedis(server.url, true, log)
  expect(logged('redis.unsafe')).toEqual([
    expect.objectContaining({ level: 40, problem: expect.stringContaining('stop-writes-on-bgsave-error') }),
  ])
  expect(await redisSettings(redis)).toContainEqual(expect.objectContaining({ name: 'save', ok: false }))
  await redis.config('SET', 'stop-writes-on-bgsave-error', 'no')
  lines.length = 0
  await checkRedis(server.url, true, log)
  expect(lines).toEqual([])
})
