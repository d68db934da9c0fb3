// Pins: a worker that cannot be started leaves nothing running. Real: Redis, a worker.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/kernel/config.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { startWorker } from '../../src/worker/main.ts'
import { silentLog } from '../support/app.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { eventually } from '../support/wait.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'laneway-data-'))
let redis: Redis
let url: URL
withOwnRedis((own, server) => {
  redis = own
  url = new URL(server.url)
})
afterAll(() => rmSync(dataDir, { recursive: true }))

const connections = async (): Promise<number> =>
  Number(/connected_clients:(\d+)/.exec(await redis.info('clients'))?.[1])

test('a worker whose Redis user may not subscribe does not start, and closes all its connections', async () => {
  const before = await connections()
  await redis.acl('SETUSER', 'mute', 'on', '>secret', '~*', '&*', '+@all', '-subscribe')
  Object.assign(url, { username: 'mute', password: 'secret' })
  const config = loadConfig({ LANEWAY_DATA_DIR: dataDir })
  await expect(startWorker(config, url.href, silentLog)).rejects.toThrow(/subscribe/)
  await eventually(async () => (await connections()) === before, 'that its connections are closed', 10_000)
})
