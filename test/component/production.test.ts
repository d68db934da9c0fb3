// Pins what production refuses about senders: at the command line that adds one, and at the start that finds one.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Log } from '../../src/kernel/log.ts'
import { connectWithRetry } from '../../src/redis/connect.ts'
import { checkData } from '../../src/start/checks.ts'
import { keptLog, silentLog } from '../support/app.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { senderRecord } from '../support/state/accounts.ts'

const NO_SECRETS = { appSecret: undefined, verifyToken: undefined }
const NO_KEYS = { dataKeys: [], retentionMs: 30 * 86_400_000 }

let redis: TestRedis
let dataDir: string
let account: string
beforeAll(async () => {
  redis = await startRedis()
  dataDir = mkdtempSync(join(tmpdir(), 'laneway-production-'))
  account = String(documentIn((await cli({}, 'accounts', 'create', 'Shop', '--json')).stdout).id)
})
afterAll(async () => {
  await redis?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

const settings = (env: Record<string, string>) => ({
  REDIS_URL: redis.url,
  LANEWAY_DATA_DIR: dataDir,
  LANEWAY_SECRET_KEYS: 'a secret key of more than 32 characters',
  LANEWAY_PUBLIC_URL: 'https://laneway.example',
  ...env,
})

const cli = (env: Record<string, string>, ...words: string[]) => runCli(words, settings(env))

const add = (number: string, baseUrl: string, env: Record<string, string>, ...more: string[]) =>
  cli(env, 'senders', 'add', '--account', account, '--number', number, '--base-url', baseUrl, '--token', 't', ...more)

const PARTNER = ['--provider', 'partner-api']
const PRODUCTION = { LANEWAY_ENV: 'production' }

test('a provider over plain http is refused when a sender is added or changed, one over https is accepted', async () => {
  const refused = await add('+447700900001', 'http://provider.example', PRODUCTION, ...PARTNER)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('begins with https:// in production') })
  expect(documentIn((await cli({}, 'senders', 'list', '--json')).stdout)).toEqual([])

  const added = await add('+447700900001', 'https://provider.example', PRODUCTION, ...PARTNER, '--json')
  const id = String(documentIn(added.stdout).id)
  const renew = ['senders', 'renew', id, '--token', 't', '--base-url', 'http://provider.example']
  expect(await cli(PRODUCTION, ...renew)).toMatchObject({ code: 1, stderr: expect.stringContaining('https://') })
  await checkData({ ...NO_KEYS, production: true, cloudApi: NO_SECRETS }, redis.url, silentLog)
})

test('a start in production names senders over plain http, and those whose webhooks are not verified', async () => {
  const plain = documentIn((await add('+447700900002', 'http://provider.example', {}, ...PARTNER, '--json')).stdout).id
  const cloud = ['--provider', 'cloud-api', '--phone-number-id', '1001', '--json']
  const deaf = documentIn((await add('+447700900003', 'https://graph.example', {}, ...cloud)).stdout).id
  const start = (production: boolean, appSecret?: string) =>
    checkData({ ...NO_KEYS, production, cloudApi: { ...NO_SECRETS, appSecret } }, redis.url, silentLog)

  await expect(start(true)).rejects.toThrow(`sender ${plain} begins with http://`)
  await expect(start(true)).rejects.toThrow(`webhooks of sender ${deaf}; set LANEWAY_CLOUD_API_APP_SECRET`)
  await expect(start(true, 'a secret of the app')).rejects.not.toThrow('webhooks')
  await start(false)
})

test('a sender on cloud-api is added in production only when its webhooks can be verified', async () => {
  const addCloud = (env: Record<string, string>, id: string) =>
    add(`+4477009000${id}`, 'https://graph.example', env, '--provider', 'cloud-api', '--phone-number-id', id)
  const refused = await addCloud(PRODUCTION, '51')
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('LANEWAY_CLOUD_API_APP_SECRET') })
  expect((await addCloud({}, '52')).code).toBe(0)
  expect((await addCloud({ ...PRODUCTION, LANEWAY_CLOUD_API_APP_SECRET: 'a-secret-of-the-app' }, '53')).code).toBe(0)

  const setSecret = ['accounts', 'set', account, 'webhook.app_secret', '-']
  expect((await runCli(setSecret, settings({}), 'a-secret-of-the-account')).code).toBe(0)
  expect((await addCloud(PRODUCTION, '54')).code).toBe(0)
})

test('a start in production continues when the record of a sender is broken, and logs which', async () => {
  const added = await add('+447700900061', 'https://provider.example', {}, ...PARTNER, '--json')
  const id = Number(documentIn(added.stdout).id)
  const connection = connectWithRetry(redis.url)
  onTestFinished(() => connection.disconnect())
  const record = senderRecord(connection, id)
  const start = (log: Log) =>
    checkData({ ...NO_KEYS, production: true, cloudApi: { ...NO_SECRETS, appSecret: 'a-secret' } }, redis.url, log)
  await record.change({ rate: 'fast' })
  const { log, lines } = keptLog()
  // Another one is still at fault, and still named.
  await expect(start(log)).rejects.toThrow('begins with http://')
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: 'sender.unreadable', level: 40, lane: id, err: { message: `sender ${id} in Redis is broken: rate` } },
  ])
  await record.change({ rate: '80' })
})
