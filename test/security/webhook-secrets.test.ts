// Pins the webhook secrets of an account: two good at a time, an end to each, and nothing of another account within
// their reach. Real: Redis, HTTP, producer, command line. The test itself plays WhatsApp.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type MessageId, messageId, newUlid } from '../../src/kernel/message-id.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { createOpaqueIds } from '../../src/providers/cloud-api.ts'
import { claim } from '../support/claim.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { PHONE_NUMBER_ID, type Service, startService, type Tenant } from '../support/service.ts'
import { accountRecord } from '../support/state/accounts.ts'
import { stored } from '../support/state/everything.ts'
import { receivedRecord } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'
import { postSigned } from '../support/webhooks.ts'

const FIRST = 'the-first-secret-of-an-app'
const SECOND = 'the-second-secret-of-an-app'
const THIRD = 'the-third-secret-of-an-app'
const TOKEN = 'a-verify-token-of-an-account'

let service: Service
let tenant: Tenant
let other: Tenant
let admin: string
beforeAll(async () => {
  service = await startService({ worker: false })
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  other = await service.addTenant({ defaultProvider: 'cloud-api' })
  admin = await tenant.key('admin')
})
afterAll(() => service?.close())

const cli = (words: readonly string[], input = '') => runCli(words, service.settings, input)
const set = (name: string, secret: string, account = tenant.account) =>
  cli(['accounts', 'set', String(account), name, '-', '--json'], `${secret}\n`)
const unset = (name: string, ...more: string[]) =>
  cli(['accounts', 'unset', String(tenant.account), name, '--json', ...more])

const ask = (method: string, path: string, body?: object, key = admin) =>
  service.api.as(key).request(method, `/admin/webhook-secrets${path}`, body)
const add = (name: string, secret: string, key = admin) => ask('PUT', `/${name}`, { secret }, key)
const EMPTY = JSON.stringify({ object: 'whatsapp_business_account', entry: [] })

const report = (
  secret: string,
  raw = EMPTY,
  account: number | string = tenant.account,
  more: Record<string, string> = {},
) => postSigned(`${service.url}/webhooks/cloud-api/${account}`, raw, secret, more)
const takes = (secret: string, status: number) =>
  eventually(async () => (await report(secret)).status === status || undefined, `${secret} is answered ${status}`)

async function handshake(token: string, account: number | string = tenant.account) {
  const query = new URLSearchParams({ 'hub.mode': 'subscribe', 'hub.verify_token': token, 'hub.challenge': '42' })
  const answer = await fetch(`${service.url}/webhooks/cloud-api/${account}?${query}`)
  return { status: answer.status, text: await answer.text() }
}

const webhook = (value: object, phoneNumberId: string) =>
  JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [
      { id: '1', changes: [{ field: 'messages', value: { metadata: { phone_number_id: phoneNumberId }, ...value } }] },
    ],
  })

test('two app secrets are valid at a time, a third replaces the first, and removing ends the older within a second', async () => {
  expect((await report(FIRST)).status).toBe(401)
  expect(documentIn((await set('webhook.app_secret', FIRST)).stdout)).toEqual({
    'webhook.app_secret': 1,
    'webhook.verify_token': 0,
  })
  await takes(FIRST, 200)
  expect((await report(SECOND)).status).toBe(401)

  expect(await add('webhook.app_secret', SECOND)).toMatchObject({
    status: 200,
    json: { data: { 'webhook.app_secret': 2 } },
  })
  await takes(SECOND, 200)
  expect((await report(FIRST)).status).toBe(200)

  await set('webhook.app_secret', THIRD)
  await takes(FIRST, 401)
  expect([(await report(SECOND)).status, (await report(THIRD)).status]).toEqual([200, 200])
  // Given again, nothing is lost.
  await add('webhook.app_secret', THIRD)
  expect((await ask('GET', '')).json).toMatchObject({ data: { 'webhook.app_secret': 2 } })

  expect(documentIn((await unset('webhook.app_secret')).stdout)).toMatchObject({ 'webhook.app_secret': 1 })
  await takes(SECOND, 401)
  expect((await report(THIRD)).status).toBe(200)
  expect((await ask('DELETE', '/webhook.app_secret?all=true')).json).toMatchObject({
    data: { 'webhook.app_secret': 0 },
  })
  await takes(THIRD, 401)
})

test('the handshake accepts the account’s own verify token and no other', async () => {
  expect((await handshake(TOKEN)).status).toBe(403)
  await set('webhook.verify_token', TOKEN)
  await eventually(async () => (await handshake(TOKEN)).status === 200 || undefined, 'the verify token is good')
  expect((await handshake(TOKEN)).text).toBe('42')
  for (const wrong of ['verify-token', `${TOKEN}x`, TOKEN.slice(1), '']) {
    expect(await handshake(wrong), wrong).toMatchObject({ status: 403, text: expect.not.stringContaining(TOKEN) })
  }
  expect((await handshake(TOKEN, other.account)).status).toBe(403)
  expect(await unset('webhook.verify_token', '--all')).toMatchObject({ code: 0 })
})

describe('at the address of an account', () => {
  test('neither the secret of the installation nor that of another account is valid', async () => {
    await set('webhook.app_secret', FIRST)
    await set('webhook.app_secret', SECOND, other.account)
    await takes(FIRST, 200)
    expect((await report('app-secret')).status).toBe(401)
    expect((await report(SECOND)).status).toBe(401)
    const theirs = async () => (await report(SECOND, EMPTY, other.account)).status === 200 || undefined
    await eventually(theirs, 'the other account’s own secret is good at its own address')
    for (const account of [999_999, 0, 'x', '1%2F2']) {
      expect([400, 401], String(account)).toContain((await report(FIRST, EMPTY, account)).status)
    }
  })

  test('a webhook changes nothing of another account, although its content is true', async () => {
    const claimed = async ({ cloudLane: lane }: Tenant): Promise<MessageId> => {
      const id = { lane, ulid: newUlid(Date.now()) }
      const about = { to: '491700000001', type: 'audio', text: 'x', class: 'transactional' } as const
      const rest = { validUntil: Date.now() + 60_000, campaign: undefined, run: undefined }
      const times = { lostAfterMs: 60_000, evidenceWaitMs: 60_000, retentionMs: 3_600_000 }
      await claim(service.redis, id, 'AAAAAA', { ...about, ...rest }, times)
      return id
    }
    const opaque = createOpaqueIds(secretKeysOf(service.config))
    const ids = await Promise.all([tenant, other].map(claimed))
    const statuses = ids.map(({ lane, ulid }) => ({
      ...{ id: `wamid.${lane}`, status: 'delivered', timestamp: String(Math.floor(Date.now() / 1_000)) },
      biz_opaque_callback_data: opaque.sign(messageId(lane, ulid), 'AAAAAA'),
    }))
    const message = (id: string) => ({
      ...{ id, from: '491700000009', timestamp: '1795255202', type: 'text', text: { body: 'Hello' } },
    })
    const [own, theirs] = [`${PHONE_NUMBER_ID}1`, `${PHONE_NUMBER_ID}2`]
    expect(await report(FIRST, webhook({ statuses, messages: [message('wamid.own')] }, own))).toMatchObject({
      status: 200,
    })
    expect(await report(FIRST, webhook({ messages: [message('wamid.theirs')] }, theirs))).toMatchObject({ status: 200 })
    const states = await Promise.all(ids.map(async (id) => (await readMessage(service.redis, id))?.state))
    expect(states).toEqual(['delivered', 'sending'])
    expect(await receivedRecord(service.redis, tenant.account, 'wamid.own').isThere()).toBe(true)
    expect(await receivedRecord(service.redis, other.account, 'wamid.theirs').isThere()).toBe(false)
  })
})

test('a compressed report to an account, or one larger than 4 MB, is refused', async () => {
  const secret = 'f'.repeat(32)
  expect((await add('webhook.app_secret', secret)).status).toBeLessThan(300)
  await takes(secret, 200)
  expect((await report(secret, EMPTY, tenant.account, { 'content-encoding': 'gzip' })).status).toBe(415)
  expect((await report(secret, `"${'x'.repeat(4 * 1024 * 1024)}"`)).status).toBe(413)
})

test('a secret that no key opens blocks neither its neighbour nor a new one', async () => {
  const place = { account: tenant.account, name: 'webhook.app_secret' }
  const lost = createSeal(['a key that the installation has lost']).encrypt(SECOND)(place)
  const good = createSeal(secretKeysOf(service.config)).encrypt(FIRST)(place)
  await accountRecord(service.redis, tenant.account).change({ 'webhook.app_secret': `${lost} ${good}` })
  await takes(FIRST, 200)
  await accountRecord(service.redis, tenant.account).change({ 'webhook.app_secret': lost })
  // Ours is the fault, and WhatsApp brings it again.
  await takes(FIRST, 500)
  expect(await set('webhook.app_secret', THIRD)).toMatchObject({ code: 0 })
  await takes(THIRD, 200)
})

test('a secret is shown nowhere, stored only sealed, and accepted only from standard input with a minimum length', async () => {
  await set('webhook.app_secret', FIRST)
  const shown = await cli(['accounts', 'show', String(tenant.account), '--json'])
  const acts = await cli(['activity', 'list', '--json'])
  const everywhere = shown.stdout + acts.stdout + JSON.stringify(await stored(service.redis))
  expect(acts.stdout).toContain('webhook.app_secret')
  for (const secret of [FIRST, SECOND, THIRD]) expect(everywhere).not.toContain(secret)

  const typed = await cli(['accounts', 'set', String(tenant.account), 'webhook.app_secret', FIRST])
  expect(typed).toMatchObject({ code: 2, stderr: expect.stringContaining('standard input') })
  for (const wrong of ['short', 'with a space in it all', '', 'é'.repeat(20)]) {
    const refused = await set('webhook.app_secret', wrong)
    expect(refused, wrong).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/webhook.app_secret: (expected|at least)/),
    })
    expect((await add('webhook.app_secret', wrong)).status, wrong).toBe(400)
  }
  expect((await ask('PUT', '/webhook.other', { secret: FIRST })).status).toBe(400)
  expect((await ask('PUT', '/webhook.app_secret', { secret: FIRST, account: other.account })).status).toBe(400)
  expect((await ask('GET', '', undefined, tenant.apiKey)).status).toBe(403)
})
