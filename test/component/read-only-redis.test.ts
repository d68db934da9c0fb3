// Pins: a connection whose server takes no writes any more, as after a failover, is made anew once, however many commands it refuses at
// the same moment, and each of them is repeated once the server takes writes again. Real: Redis.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { eventually } from '../support/wait.ts'
import { type RedisServer, startRedisServer } from '../testbed/redis-server.ts'

const COUNT = 30

const dir = mkdtempSync(join(tmpdir(), 'laneway-read-only-'))
let server: RedisServer
let control: Redis
beforeAll(async () => {
  server = await startRedisServer(dir)
  control = connectWithRetry(server.url)
  await control.ping()
})
afterAll(async () => {
  control?.disconnect()
  await server?.stop()
  rmSync(dir, { recursive: true, force: true })
})

test('thirty commands that are refused at once close the connection once', async () => {
  const redis = connectWithRetry(server.url)
  const warnings: string[] = []
  const note = ({ message }: Error) => warnings.push(message)
  process.on('warning', note)
  await redis.ping()
  await control.call('REPLICAOF', '127.0.0.1', '1')
  let connections = 0
  redis.on('ready', () => {
    connections += 1
  })
  const written = Promise.all(Array.from({ length: COUNT }, (_none, i) => redis.set(`key${i}`, '1')))
  // Each new connection finds them refused again.
  await eventually(async () => connections >= 3, 'it is made anew')
  await control.call('REPLICAOF', 'NO', 'ONE')
  await written
  expect(await redis.get('key0')).toBe('1')
  process.off('warning', note)
  redis.disconnect()
  expect(warnings).toEqual([])
})
