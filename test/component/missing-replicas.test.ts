// Pins: replicas that are waited for and are not there are told of as a wrong setting of Redis is, by its gauge as well; and
// nobody is told of replicas that nobody waits for. Real: Redis with a replica.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { requireReplicas } from '../../src/redis/replication.ts'
import { redisProblems, redisSettings } from '../../src/redis/safety.ts'
import { eventually } from '../support/wait.ts'
import { type RedisServer, startRedisServer } from '../testbed/redis-server.ts'

const dir = mkdtempSync(join(tmpdir(), 'laneway-missing-replicas-'))
let primary: RedisServer
let redis: Redis
beforeAll(async () => {
  primary = await startRedisServer(join(dir, 'primary'))
  redis = connectWithRetry(primary.url)
})
afterAll(async () => {
  redis?.disconnect()
  await primary?.stop()
  rmSync(dir, { recursive: true, force: true })
})

test('a primary without the required replica is a problem until the replica is there', async () => {
  expect(await redisProblems(redis)).toEqual([])
  expect((await redisSettings(redis)).map(({ name }) => name)).not.toContain('replicas')

  requireReplicas(redis, 1)
  expect(await redisProblems(redis)).toEqual([
    'Redis has 0 of the 1 replicas that LANEWAY_REDIS_MIN_REPLICAS asks for: nothing is accepted or sent there.',
  ])

  const replica = await startRedisServer(join(dir, 'replica'), {
    settings: { replicaof: `127.0.0.1 ${primary.port}` },
  })
  try {
    await eventually(async () => (await redisProblems(redis)).length === 0, 'the replica is online')
    expect(await redisSettings(redis)).toContainEqual({
      name: 'replicas',
      ok: true,
      sentence: 'Redis has 1 of the 1 replicas that LANEWAY_REDIS_MIN_REPLICAS asks for.',
    })
  } finally {
    await replica.stop()
  }
  await eventually(async () => (await redisProblems(redis)).length === 1, 'it is missed')
})
