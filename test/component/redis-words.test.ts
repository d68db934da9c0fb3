// Pins: whatever word Redis refuses with, a request is answered 503 `unavailable` with Retry-After, never 500, never 2xx,
// and works again afterwards. Real: Redis, HTTP, producer; a relay before Redis says the words.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { addSender } from '../../src/accounts/add-sender.ts'
import { createCredential, PERMISSIONS } from '../../src/accounts/credentials.ts'
import { loadConfig } from '../../src/kernel/config.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { startProducer } from '../../src/producer/main.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { apiClient } from '../support/api.ts'
import { silentLog } from '../support/app.ts'
import { audioTo } from '../support/messages.ts'
import { type RedisRelay, startRedisRelay } from '../support/redis-relay.ts'
import { eventually } from '../support/wait.ts'
import { signatureOf } from '../support/webhooks.ts'
import { type RedisServer, startRedisServer } from '../testbed/redis-server.ts'

const SECRET = 'app-secret'
const PHONE_NUMBER_ID = '106540352242922'

let server: RedisServer
let redis: Redis
let relay: RedisRelay
let producer: Awaited<ReturnType<typeof startProducer>>
let key: string
beforeAll(async () => {
  server = await startRedisServer(mkdtempSync(join(tmpdir(), 'laneway-redis-')))
  redis = connectWithRetry(server.url)
  relay = await startRedisRelay(server.port)
  const config = loadConfig({ PORT: '0', LANEWAY_LOG_LEVEL: 'silent', LANEWAY_CLOUD_API_APP_SECRET: SECRET })
  producer = await startProducer(config, relay.url, silentLog)
  const account = await createAccount(redis, 'Shop')
  key = (await createCredential(redis, account, PERMISSIONS, Date.now())).secret
  await addSender(redis, {
    ...{ account, number: '447700900001', name: 'shop', provider: 'cloud-api', phoneNumberId: PHONE_NUMBER_ID },
    ...{ baseUrl: 'http://127.0.0.1:9', sealedToken: createSeal(secretKeysOf(config)).encrypt('token') },
    ...{ rate: 80, honoursIdempotency: false, isDefault: true },
  })
})
afterAll(async () => {
  relay?.refuse(undefined)
  await producer?.close()
  await relay?.close()
  redis?.disconnect()
  await server?.stop()
  rmSync(server?.dir ?? '', { recursive: true, force: true })
})

/** As the servers say them. */
const WORDS = [
  'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.',
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  'UNKILLABLE Sorry the script already executed write commands against the dataset.',
  "NOPERM this user has no permissions to run the 'evalsha' command",
  "ERR The user executing the script can't run this command or subcommand script: 0, on @user_script:1.",
  "ERR ACL failure in script: User guest has no permissions to run the 'set' command script: 0, on @user_script:1.",
  'NOAUTH Authentication required.',
  'WRONGPASS invalid username-password pair or user is disabled.',
  "READONLY You can't write against a read only replica.",
  'LOADING Redis is loading the dataset in memory',
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  "OOM command not allowed when used memory > 'maxmemory'.",
  'NOREPLICAS Not enough good replicas to write.',
  'CLUSTERDOWN The cluster is down',
  'TRYAGAIN Multiple keys request during rehashing of slot',
] as const

const webhook = JSON.stringify({
  object: 'whatsapp_business_account',
  entry: [
    {
      id: '1',
      changes: [
        {
          field: 'messages',
          value: {
            messaging_product: 'whatsapp',
            metadata: { display_phone_number: '447700900001', phone_number_id: PHONE_NUMBER_ID },
            contacts: [{ profile: { name: 'A' }, wa_id: '447700900099' }],
            messages: [{ from: '447700900099', id: 'wamid.x', timestamp: '1', type: 'text', text: { body: 'hi' } }],
          },
        },
      ],
    },
  ],
})
const signature = signatureOf(webhook, SECRET)

const call = (path: string, init: RequestInit = {}) =>
  apiClient(producer.url, key).open(path, {
    ...init,
    headers: { 'content-type': 'application/json', ...init.headers },
  })
const post = (path: string, body: object) => call(path, { method: 'POST', body: JSON.stringify(body) })

const CALLS: Readonly<Record<string, () => Promise<Response>>> = {
  'a message to send': () => post('/sendservicemessages/sendmessages', audioTo('+447700900002', { api_key: key })),
  'a batch': () => post('/messages/batch', { messages: [audioTo('+447700900002')] }),
  'a lookup': () =>
    post('/chatappbusiness/fetchmessageinfo', { api_key: key, message_id: 'msg_1_01JD3V5T9GZQ4XNB8M2K6R0WCY' }),
  'a list of lanes': () => call('/admin/lanes'),
  'a list of campaigns': () => call('/campaigns'),
  'an opt-out': () => post('/opt-outs', { person: '+447700900003' }),
  'a webhook': () =>
    call('/webhooks/cloud-api', { method: 'POST', body: webhook, headers: { 'x-hub-signature-256': signature } }),
  'whether it is ready': () => call('/readyz'),
}

test.each(WORDS)('while Redis answers %s, everything is 503 with Retry-After, and works again later', async (error) => {
  relay.refuse(error)
  for (const [what, make] of Object.entries(CALLS)) {
    const answer = await make()
    const text = await answer.text()
    expect(answer.status, `${what}: ${text}`).toBe(503)
    expect(JSON.parse(text).error.code, what).toBe('unavailable')
    expect(Number(answer.headers.get('retry-after')), what).toBeGreaterThanOrEqual(1)
  }
  relay.refuse(undefined)
  // READONLY makes the connection anew.
  await eventually(async () => (await call('/admin/lanes')).status === 200, 'the producer works again')
  expect((await CALLS['a webhook']?.())?.status).toBe(200)
})
