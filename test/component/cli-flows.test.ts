// `flows`: where an account's flows are answered, and their keys. Real: Redis.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createAccount } from '../../src/accounts/accounts.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'

let server: TestRedis
let redis: Redis
let account: string
beforeAll(async () => {
  server = await startRedis()
  redis = connectWithRetry(server.url)
  account = String(await createAccount(redis, 'Shop'))
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

const run = (...words: string[]) =>
  runCli(['flows', ...words], { REDIS_URL: server.url, LANEWAY_EVENTS_ALLOW_PRIVATE: '127.0.0.0/8' })
const keys = z.object({ keys: z.array(z.object({ id: z.string(), public_key: z.string() })) })
const settings = async () => keys.parse(documentIn((await run('show', account, '--json')).stdout))

test('an address is set with a secret shown once, refused where it must not be called, and removed', async () => {
  const first = await run('address', account, 'http://127.0.0.1:9/flows')
  expect([first.code, first.stdout]).toEqual([0, expect.stringMatching(/whsec_\S+\n/)])
  expect((await run('address', account, 'http://127.0.0.1:9/other')).stdout).not.toContain('whsec_')
  const refused = await run('address', account, 'http://169.254.169.254/')
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('address')])
  expect((await run('show', account)).stdout).toContain('http://127.0.0.1:9/other')
  await run('address', account, 'none')
  expect((await run('show', account)).stdout).toMatch(/^address +none/m)
})

test('keys are made and removed, at most two at a time, and nothing private is printed', async () => {
  for (let n = 0; n < 3; n += 1) {
    const made = await run('add-key', account)
    expect(made.stdout).toMatch(/^-----BEGIN PUBLIC KEY-----/)
    expect(made.stdout).not.toContain('PRIVATE')
  }
  const before = await settings()
  expect(before.keys).toHaveLength(2)
  await run('remove-key', account)
  expect((await settings()).keys).toEqual(before.keys.slice(0, 1))
  await run('remove-key', account, '--all')
  expect((await settings()).keys).toEqual([])
})

test('nothing is set for an account that does not exist', async () => {
  expect((await run('add-key', '999')).code).toBe(1)
})
