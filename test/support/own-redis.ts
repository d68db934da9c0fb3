// A Redis for the tests of one file.
import { afterAll, beforeAll } from 'vitest'
import { connectWithRetry, type Redis, readyOrLate } from '../../src/redis/connect.ts'
import { startRedis, type TestRedis } from './redis.ts'

/**
 * Starts one before the tests of this file and hands over a connection to it, which `connect` makes; ends both after
 * them. What `take` opens is closed by an `afterAll` of the file, which comes before that.
 */
export function withOwnRedis(take: (redis: Redis, server: TestRedis) => unknown, connect = connectWithRetry): void {
  let server: TestRedis | undefined
  let redis: Redis | undefined
  beforeAll(async () => {
    server = await startRedis()
    redis = connect(server.url)
    redis.on('error', () => {})
    await readyOrLate(redis, 300_000)
    await take(redis, server)
  })
  afterAll(async () => {
    redis?.disconnect()
    await server?.stop()
  })
}
