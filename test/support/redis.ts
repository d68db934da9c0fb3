// A private Redis for a test, in a folder that goes with it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RedisServer, startRedisServer } from '../../testbed/redis-server.ts'

/** A Redis server of one's own. `stop` removes its files as well; stopping twice does no harm. */
export type TestRedis = RedisServer

/** Starts a Redis and waits until it takes connections. */
export async function startRedis(): Promise<TestRedis> {
  const dir = mkdtempSync(join(tmpdir(), 'laneway-redis-'))
  const server = await startRedisServer(dir)
  return {
    ...server,
    async stop() {
      await server.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
