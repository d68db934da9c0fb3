// Pins: the endpoint of flows opens what WhatsApp posts, hands it to the account's own server as signed JSON, and encrypts the
// answer; who is not WhatsApp, another account, and a server that does not answer get nothing of it. Real: Redis, HTTP,
// producer, command line; the phone is Node's own crypto.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { addWebhookSecret } from '../../src/accounts/webhook-secrets.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { createAskAccount } from '../../src/producer/api/flows/ask-account.ts'
import { errorOf } from '../support/api-error.ts'
import { hubSignature, phoneAsks, tokenSignature } from '../support/flow-phone.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { listen } from '../testbed/free-port.ts'

const APP_SECRET = 'app-secret'
const OWN_SECRET = 'own-app-secret-of-the-account'

let service: Service
let tenant: Tenant
let admin: string
let publicKey: string
let secret: string
let shop: { url: string; close: () => void }
/** What the account's server was asked, and how it answers. */
const asked: { headers: Record<string, string>; body: string }[] = []
let answer: (response: ServerResponse, request: IncomingMessage) => void

const json = (status: number, body: unknown) => (response: ServerResponse) =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

beforeAll(async () => {
  service = await startService({ worker: false, env: { LANEWAY_EVENTS_ALLOW_PRIVATE: '127.0.0.0/8' } })
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  admin = await tenant.key('admin')
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    asked.push({ headers: Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)])), body })
    answer(response, request)
  })
  const port = await listen(server)
  shop = {
    url: `http://127.0.0.1:${port}/flows`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
  publicKey = keySchema.parse((await call('POST', '/admin/flows/keys')).data).public_key
  secret = z
    .object({ secret: z.string() })
    .parse((await call('PUT', '/admin/flows', { address: shop.url })).data).secret
})
afterAll(async () => {
  shop?.close()
  await service?.close()
})
beforeEach(() => {
  asked.length = 0
  answer = json(200, { screen: 'TIMES', data: { days: ['Monday'] } })
})

const keySchema = z.object({ id: z.string(), public_key: z.string() })
const envelope = z.looseObject({ data: z.looseObject({}).optional() })
async function call(method: string, path: string, body?: object, key = admin) {
  const answer = await service.api.as(key).request(method, path, body)
  return { ...envelope.parse(answer.json), ...answer }
}

async function post(body: string, signature: string, account = tenant.account, flow = 'delivery') {
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': signature }
  const response = await fetch(`${service.url}/flows/${account}/${flow}`, { method: 'POST', headers, body })
  return { status: response.status, text: await response.text() }
}
/** Posts what a phone asks, as WhatsApp's server does, and reads the answer as the phone does. */
async function exchange(what: object, { key = publicKey, appSecret = APP_SECRET, account = tenant.account } = {}) {
  const phone = phoneAsks(key, what)
  const body = JSON.stringify(phone.body)
  const { status, text } = await post(body, hubSignature(body, appSecret), account)
  const isJson = text.startsWith('{')
  return {
    status,
    answer: isJson ? undefined : phone.read(text),
    json: isJson ? (JSON.parse(text) as unknown) : undefined,
  }
}
const ask = {
  version: '3.0',
  action: 'data_exchange',
  screen: 'ADDRESS',
  flow_token: 'order-77',
  data: { zip: '10115' },
}

test("a request is answered by the account's server, which can verify that it comes from us", async () => {
  expect(await exchange(ask)).toMatchObject({
    status: 200,
    answer: { version: '3.0', screen: 'TIMES', data: { days: ['Monday'] } },
  })
  const [request] = asked
  expect(asked).toHaveLength(1)
  expect(new Webhook(secret).verify(request?.body ?? '', request?.headers ?? {})).toEqual({
    type: 'flow.request',
    timestamp: expect.any(String),
    data: { flow: 'delivery', ...ask },
  })
})

test('an answer after a byte order mark is read like any other', async () => {
  answer = (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('\uFEFF{"screen":"TIMES","data":{}}')
  expect(await exchange(ask)).toMatchObject({ status: 200, answer: { screen: 'TIMES' } })
})

test('the simulator sends a request as a phone does, and shows what the phone would read', async () => {
  const simulated = async (more: object) => {
    const flow = { url: `${service.url}/flows/${tenant.account}/delivery`, public_key: publicKey, ...more }
    const response = await fetch(`${service.simulator.url}/_flow`, { method: 'POST', body: JSON.stringify(flow) })
    return (await response.json()) as unknown
  }
  const { version: _, ...question } = ask
  expect(await simulated(question)).toEqual({
    status: 200,
    answer: { version: '3.0', screen: 'TIMES', data: { days: ['Monday'] } },
  })
  expect(asked[0]?.body).toContain('"zip":"10115"')
  answer = json(427, { error_msg: 'This order is closed.' })
  expect(await simulated(question)).toEqual({ status: 427, answer: { error_msg: 'This order is closed.' } })
  answer = json(500, {})
  expect(await simulated(question)).toMatchObject({ status: 502, answer: expect.stringContaining('flow_unanswered') })
  expect(await simulated({ public_key: 'none' })).toEqual({
    message: 'public_key: must be the public key of the business, as PEM.',
  })
})

test("a health check is answered at once, without a call to the account's server", async () => {
  expect(await exchange({ version: '3.0', action: 'ping' })).toMatchObject({
    status: 200,
    answer: { data: { status: 'active' } },
  })
  expect(asked).toEqual([])
})

test("a report of a wrong answer reaches the account's server and is acknowledged whatever that answers", async () => {
  answer = json(500, {})
  const report = { ...ask, data: { error: 'INVALID_SCREEN', error_message: 'no such screen' } }
  expect(await exchange(report)).toMatchObject({ status: 200, answer: { data: { acknowledged: true } } })
  expect(asked[0]?.body).toContain('INVALID_SCREEN')
})

test("an expired flow token is reported to WhatsApp as the account's server reports it", async () => {
  answer = json(427, { error_msg: 'This order is closed.' })
  expect(await exchange(ask)).toMatchObject({ status: 427, answer: { error_msg: 'This order is closed.' } })
})

describe('a request that is not from WhatsApp', () => {
  test('is 432 with a signature of another secret, of another body, or without one; nothing is decrypted', async () => {
    expect(await exchange(ask, { appSecret: 'wrong' })).toMatchObject({ status: 432 })
    const body = JSON.stringify(phoneAsks(publicKey, ask).body)
    for (const signature of [hubSignature(`${body} `, APP_SECRET), 'sha256=', '']) {
      const { status, text } = await post(body, signature)
      expect([status, errorOf({ json: JSON.parse(text) }).code]).toEqual([432, 'flow_not_signed'])
    }
    expect(asked).toEqual([])
  })

  test("is 432 with a flow token signature that is not WhatsApp's; a valid one is not forwarded", async () => {
    const wrong = { ...ask, flow_token_signature: tokenSignature({ flow_token: 'order-77' }, 'wrong') }
    expect(await exchange(wrong)).toMatchObject({ status: 432 })
    expect(asked).toEqual([])
    const right = { ...ask, flow_token_signature: tokenSignature({ flow_token: 'order-77' }, APP_SECRET) }
    expect((await exchange(right)).status).toBe(200)
    expect(asked[0]?.body).not.toContain('flow_token_signature')
  })

  test('is 421 with a key that is not ours, garbage, or content that is not JSON', async () => {
    const other = await service.addTenant()
    const theirs = keySchema.parse((await call('POST', '/admin/flows/keys', undefined, await other.key('admin'))).data)
    expect(await exchange(ask, { key: theirs.public_key })).toMatchObject({ status: 421 })
    // The other account has a key and no server.
    expect(await exchange(ask, { key: theirs.public_key, account: other.account })).toMatchObject({ status: 502 })
    for (const body of ['{}', '{"encrypted_flow_data":1}']) {
      const { status, text } = await post(body, hubSignature(body, APP_SECRET))
      expect([status, errorOf({ json: JSON.parse(text) }).code]).toEqual([421, 'flow_unreadable'])
    }
    expect(await exchange({ no: 'action' })).toMatchObject({ status: 421 })
    expect(await exchange(ask, { account: 999_999 })).toMatchObject({ status: 421 })
  })
})

test('an account with an app secret of its own accepts no other', async () => {
  const own = await service.addTenant()
  const key = keySchema.parse(
    (await call('POST', '/admin/flows/keys', undefined, await own.key('admin'))).data,
  ).public_key
  await addWebhookSecret(
    service.redis,
    createSeal(secretKeysOf(service.config)),
    own.account,
    'webhook.app_secret',
    OWN_SECRET,
  )
  const ping = { version: '3.0', action: 'ping' }
  await eventually(
    async () => (await exchange(ping, { key, account: own.account, appSecret: OWN_SECRET })).status === 200,
    'it holds',
  )
  expect(await exchange(ping, { key, account: own.account })).toMatchObject({ status: 432 })
})

describe('a server of the account', () => {
  test.each<[string, (response: ServerResponse) => void]>([
    ['fails', json(500, {})],
    ['redirects', (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['answers no object', json(200, [1])],
    ['answers no JSON', (response) => void response.end('<html>')],
    ['answers more than a megabyte', (response) => void response.end(JSON.stringify({ a: 'x'.repeat(1_100_000) }))],
    ['hangs up', (response) => void response.socket?.destroy()],
  ])('that %s makes the flow fail with 502, and is not asked again', async (_what, behave) => {
    answer = behave
    expect(await exchange(ask)).toMatchObject({ status: 502 })
    expect(asked).toHaveLength(1)
  })

  test('that does not answer is given up after a bounded time', async () => {
    const hasty = createAskAccount(['127.0.0.0/8'], 300)
    answer = () => undefined
    const began = performance.now()
    expect(await hasty.ask({ address: shop.url, secrets: [secret] }, 'delivery', ask)).toEqual({
      problem: 'timeout',
    })
    expect(performance.now() - began).toBeLessThan(60_000)
    await hasty.close()
  })

  test('in a private network is not called, whatever its name resolves to', async () => {
    const guarded = createAskAccount([])
    expect(await guarded.ask({ address: shop.url, secrets: [secret] }, 'delivery', ask)).toEqual({
      problem: 'unsafe_target',
    })
    expect(asked).toEqual([])
    await guarded.close()
    const refused = await call('PUT', '/admin/flows', { address: 'http://169.254.169.254/latest' })
    expect([refused.status, errorOf(refused).details[0]?.path]).toEqual([400, 'address'])
  })
})

test('two keys and two secrets are valid at a time; a third replaces the first', async () => {
  const mine = await service.addTenant()
  const key = await mine.key('admin')
  const keys: string[] = []
  for (let n = 0; n < 3; n += 1) {
    keys.push(keySchema.parse((await call('POST', '/admin/flows/keys', undefined, key)).data).public_key)
  }
  const first = z
    .object({ secret: z.string() })
    .parse((await call('PUT', '/admin/flows', { address: shop.url }, key)).data).secret
  expect((await call('PUT', '/admin/flows', { address: shop.url }, key)).data).toMatchObject({ secret: null })
  const second = z
    .object({ secret: z.string() })
    .parse((await call('POST', '/admin/flows/rotate-secret', undefined, key)).data).secret
  const ping = { version: '3.0', action: 'ping' }
  const statuses = async () =>
    Promise.all(keys.map(async (each) => (await exchange(ping, { key: each, account: mine.account })).status))
  await eventually(async () => (await statuses()).join() === '421,200,200', 'the third has driven the first out')
  const signedByBoth = async () => {
    asked.length = 0
    await exchange(ask, { key: keys[2] ?? '', account: mine.account })
    const [request] = asked
    return request !== undefined && [first, second].every((each) => verifies(each, request))
  }
  await eventually(signedByBoth, 'both secrets sign')
  expect((await call('DELETE', '/admin/flows/keys', undefined, key)).data).toMatchObject({
    keys: [{ public_key: keys[2] }],
  })
  await eventually(async () => (await statuses()).join() === '421,421,200', 'the older one is gone')
})

function verifies(with_: string, { headers, body }: { headers: Record<string, string>; body: string }): boolean {
  try {
    return new Webhook(with_).verify(body, headers) !== undefined
  } catch {
    return false
  }
}

test('all keys are removed only by the exact word `all`', async () => {
  expect((await call('DELETE', '/admin/flows/keys?all=yes')).status).toBe(400)
})

test('only an admin of the account can see and change how its flows are served', async () => {
  const reader = await tenant.key('messages:send')
  expect((await call('GET', '/admin/flows', undefined, reader)).status).toBe(403)
  const { data } = await call('GET', '/admin/flows')
  expect(data).toMatchObject({ address: shop.url, secrets: 1, keys: [{ public_key: publicKey }] })
  expect(JSON.stringify(data)).not.toContain('PRIVATE')
})

test('a request that no phone sends is refused before it is decrypted', async () => {
  const ask = async (body: string, encoding?: string) => {
    const headers = {
      ...(encoding !== undefined && { 'content-encoding': encoding }),
      'content-type': 'application/json',
      'x-hub-signature-256': hubSignature(body, APP_SECRET),
    }
    return (await fetch(`${service.url}/flows/${tenant.account}/delivery`, { method: 'POST', headers, body })).status
  }
  expect(await ask('{')).toBe(400)
  expect(await ask('{}', 'gzip')).toBe(415)
  expect(await ask(JSON.stringify({ encrypted_flow_data: 'x'.repeat(1_100_000) }))).toBe(413)
  expect(asked).toEqual([])
})
