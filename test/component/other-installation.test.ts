// Pins: a producer whose Redis comes back empty, or with the data of another installation, says "not now" to everybody until
// the right data are back: clients and WhatsApp repeat, and nothing is lost. Real: Redis, HTTP, producer.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { addSender } from '../../src/accounts/add-sender.ts'
import { createCredential, PERMISSIONS } from '../../src/accounts/credentials.ts'
import { loadConfig } from '../../src/kernel/config.ts'
import { messageId, newUlid } from '../../src/kernel/message-id.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { startProducer } from '../../src/producer/main.ts'
import { createOpaqueIds } from '../../src/providers/cloud-api.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { sendHeartbeat } from '../../src/redis/heartbeats.ts'
import { nameInstallation } from '../../src/redis/installation.ts'
import { nextId } from '../../src/redis/records.ts'
import { startMetricsPort } from '../../src/start/metrics-port.ts'
import { createTelemetry } from '../../src/telemetry/telemetry.ts'
import { apiClient } from '../support/api.ts'
import { silentLog } from '../support/app.ts'
import { audioTo } from '../support/messages.ts'
import { PHONE_NUMBER_ID } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { signatureOf } from '../support/webhooks.ts'
import { type RedisServer, startRedisServer } from '../testbed/redis-server.ts'

const SECRET = 'app-secret'
const config = loadConfig({ PORT: '0', LANEWAY_LOG_LEVEL: 'silent', LANEWAY_CLOUD_API_APP_SECRET: SECRET })
const opaqueIds = createOpaqueIds(secretKeysOf(config))

// One server, not a cluster: its databases are exchanged under the connections.
let server: RedisServer
let redis: Redis
let url: string
let closeProducer: () => Promise<void>
let key: string
let lane: number

/** An installation in the database that is served at the moment, with an account and a sender; the key of the account. */
async function addInstallation(): Promise<string> {
  await nameInstallation(redis)
  const account = await createAccount(redis, 'Shop')
  lane = await addSender(redis, {
    ...{ account, number: '447700900001', name: 'shop', provider: 'cloud-api', phoneNumberId: PHONE_NUMBER_ID },
    ...{ baseUrl: 'http://127.0.0.1:9', sealedToken: createSeal(secretKeysOf(config)).encrypt('token') },
    ...{ rate: 80, honoursIdempotency: false, isDefault: true },
  })
  await sayWorker()
  return (await createCredential(redis, account, PERMISSIONS, Date.now())).secret
}

const sayWorker = () =>
  sendHeartbeat(redis, 'w', {
    ...{ host: 'h', pid: 1, startedAt: Date.now(), version: '1', inFlight: 0, maxInFlight: 1, lanes: 0, serves: [] },
  })

beforeAll(async () => {
  server = await startRedisServer(mkdtempSync(join(tmpdir(), 'laneway-redis-')))
  redis = connectWithRetry(server.url)
  key = await addInstallation()
  const producer = await startProducer(config, server.url, silentLog)
  url = producer.url
  closeProducer = producer.close
})
afterAll(async () => {
  await closeProducer?.()
  redis?.disconnect()
  await server?.stop()
  rmSync(server?.dir ?? '', { recursive: true, force: true })
})

/** A worker counts as alive for 10 s. */
beforeEach(() => sayWorker())

const statusOf = async (path: string, init: RequestInit = {}, at = url): Promise<number> => {
  const answer = await fetch(at + path, { ...init, headers: { 'content-type': 'application/json', ...init.headers } })
  await answer.body?.cancel()
  return answer.status
}
const send = () =>
  statusOf('/sendservicemessages/sendmessages', {
    method: 'POST',
    body: JSON.stringify(audioTo('+447700900002', { api_key: key })),
  })

function postWebhook(value: object, at = url, field = 'messages'): Promise<number> {
  const change = { field, value: { metadata: { phone_number_id: PHONE_NUMBER_ID }, ...value } }
  const body = JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '1', changes: [change] }] })
  const headers = { 'x-hub-signature-256': signatureOf(body, SECRET) }
  return statusOf('/webhooks/cloud-api', { method: 'POST', body, headers }, at)
}

/** Evidence about a message of ours on this lane. */
const evidence = (of: number) => ({
  statuses: [
    {
      ...{ id: 'wamid.x', status: 'delivered', timestamp: '1764240000', recipient_id: '447700900002' },
      biz_opaque_callback_data: opaqueIds.sign(messageId(of, newUlid(Date.now())), 'AAAAAA'),
    },
  ],
})
const received = {
  messages: [{ from: '447700900099', id: 'wamid.y', timestamp: '1764240000', type: 'text', text: { body: 'hi' } }],
}

/** WhatsApp has closed the account of our numbers. */
const closed = { event: 'DISABLED_UPDATE', ban_info: { waba_ban_state: 'DISABLE' } }
const preference = {
  user_preferences: [
    { wa_id: '447700900099', category: 'marketing_messages', value: 'stop', timestamp: 1_764_240_000 },
  ],
}

async function expectAll(status: number): Promise<void> {
  expect(await statusOf('/readyz')).toBe(status)
  expect(await send()).toBe(status)
  expect((await apiClient(url, key).get('/admin/lanes')).status).toBe(status)
  expect(await statusOf('/console/session', { headers: { cookie: `laneway_session=${'a'.repeat(43)}` } })).toBe(
    status === 200 ? 401 : status,
  )
  expect(await postWebhook(evidence(lane))).toBe(status)
  expect(await postWebhook(received)).toBe(status)
  expect(await postWebhook(closed, url, 'account_update')).toBe(status)
}

/** Keys are remembered for a second. */
const untilForgotten = () => eventually(async () => (await send()) !== 200, 'the key is looked for again')

describe.each([
  ['empty', async () => {}],
  ['with the data of another installation', async () => void (await addInstallation())],
])('a Redis that comes back %s', (_how, fill) => {
  test('makes every answer 503, never 401 and never 200, until the right data are back', async () => {
    await expectAll(200)
    await redis.call('SWAPDB', 0, 1)
    try {
      await fill()
      await untilForgotten()
      await expectAll(503)
    } finally {
      await redis.call('SWAPDB', 0, 1)
    }
    await sayWorker()
    await expectAll(200)
    await redis.call('SELECT', 1)
    await redis.flushdb()
    await redis.call('SELECT', 0)
  })
})

test('while other data are there the metrics port reports that the process is not ready', async () => {
  const telemetry = createTelemetry()
  const port = await startMetricsPort({ metricsPort: 0, metricsHost: '127.0.0.1' }, server.url, telemetry, silentLog)
  const isReady = () => statusOf('/readyz', {}, port.url)
  await eventually(async () => (await isReady()) === 200, 'it is ready')
  await redis.call('SWAPDB', 0, 1)
  expect(await isReady()).toBe(503)
  await redis.call('SWAPDB', 0, 1)
  expect(await isReady()).toBe(200)
  port.close()
})

describe('a producer that has only ever seen an empty Redis', () => {
  test('answers 503 to reports about messages and senders as long as it has no sender', async () => {
    await redis.call('SWAPDB', 0, 1)
    const fresh = await startProducer(config, server.url, silentLog)
    try {
      expect(await postWebhook(evidence(1), fresh.url)).toBe(503)
      expect(await postWebhook(received, fresh.url)).toBe(503)
      expect(await postWebhook(closed, fresh.url, 'account_update')).toBe(503)
      expect(await postWebhook(preference, fresh.url, 'user_preferences')).toBe(503)
    } finally {
      await fresh.close()
      await redis.call('SWAPDB', 0, 1)
    }
  })
})

test('evidence for a lane that was removed and forgotten is answered with 200, as it can never be matched', async () => {
  await nextId(redis, 'lane')
  expect(await postWebhook(evidence(lane + 1))).toBe(200)
  expect(await postWebhook(evidence(lane + 2))).toBe(503)
})
