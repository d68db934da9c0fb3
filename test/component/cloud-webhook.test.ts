// Pins: what WhatsApp reports over its webhook settles our messages and nobody else's, whatever its order and
// however often it comes, and is durable before it is answered. Real: Redis, HTTP, producer. The test itself plays the
// WhatsApp, so that it can lie.

import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type MessageId, messageId, newUlid } from '../../src/kernel/message-id.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { type MessageRecord, readMessage } from '../../src/lanes/messages/records.ts'
import { recordStatus, resolveUnconfirmed, setUnconfirmed } from '../../src/lanes/messages/steps.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { createTombstones } from '../../src/people/tombstones.ts'
import { webhookRoutes } from '../../src/producer/api/webhooks/handlers.ts'
import { createOpaqueIds } from '../../src/providers/cloud-api.ts'
import { connectWithRetry } from '../../src/redis/connect.ts'
import { nobody, observe } from '../../src/redis/observe.ts'
import { keptLog, silentLog, startApp } from '../support/app.ts'
import { claim } from '../support/claim.ts'
import { deliveryOf, infoOf } from '../support/messages.ts'
import { PHONE_NUMBER_ID, type Service, startService, type Tenant } from '../support/service.ts'
import { namesOfAccount, namesWith } from '../support/state/everything.ts'
import { messageRecord, receivedRecord } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const PATH = '/webhooks/cloud-api'
const NOW_S = Math.floor(Date.now() / 1_000)

const { log, lines } = keptLog()
let service: Service
let tenant: Tenant
let other: Tenant
let opaqueIds: ReturnType<typeof createOpaqueIds>
beforeAll(async () => {
  service = await startService({ worker: false, log })
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  other = await service.addTenant({ defaultProvider: 'cloud-api' })
  opaqueIds = createOpaqueIds(secretKeysOf(service.config))
})
afterAll(() => service?.close())

interface Sent {
  id: MessageId
  name: string
  opaque: string
}

/** A message that a worker has claimed and sent, as far as Redis knows, and that waits for evidence. */
async function claimed(attempt = 'AAAAAA', lane = tenant.cloudLane): Promise<Sent> {
  const id = { lane, ulid: newUlid(Date.now()) }
  const times = { lostAfterMs: 60_000, evidenceWaitMs: 60_000, retentionMs: 3_600_000 }
  const about = { to: '491700000001', type: 'audio', text: 'x', class: 'transactional' } as const
  const rest = { validUntil: Date.now() + 60_000, campaign: undefined, run: undefined }
  await claim(service.redis, id, attempt, { ...about, ...rest }, times)
  const name = messageId(id.lane, id.ulid)
  return { id, name, opaque: opaqueIds.sign(name, attempt) }
}

const status = (sent: Pick<Sent, 'opaque'>, word: string, more: object = {}) => ({
  id: `wamid.${sent.opaque.slice(-5)}`,
  status: word,
  timestamp: String(NOW_S),
  recipient_id: '491700000001',
  biz_opaque_callback_data: sent.opaque,
  ...(word === 'failed' ? { errors: [{ code: 131026, title: 'Message undeliverable' }] } : {}),
  ...more,
})

const webhook = (value: object, phoneNumberId = `${PHONE_NUMBER_ID}1`) => ({
  object: 'whatsapp_business_account',
  entry: [
    { id: '1', changes: [{ field: 'messages', value: { metadata: { phone_number_id: phoneNumberId }, ...value } }] },
  ],
})

const sign = (raw: string | Buffer): string => `sha256=${createHmac('sha256', 'app-secret').update(raw).digest('hex')}`

async function postRaw(raw: string | Buffer, headers: Record<string, string>, url = service.url) {
  const answer = await fetch(url + PATH, { method: 'POST', body: raw, headers })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

const post = (body: unknown) => {
  const raw = JSON.stringify(body)
  return postRaw(raw, { 'content-type': 'application/json', 'x-hub-signature-256': sign(raw) })
}

const stateOf = async ({ id }: Sent): Promise<MessageRecord['state'] | undefined> =>
  (await readMessage(service.redis, id))?.state

async function lookUpStatus(name: string, { apiKey }: Tenant = tenant): Promise<number> {
  return (await service.post('/chatappbusiness/fetchmessageinfo', { api_key: apiKey, message_id: name })).status
}

describe('the handshake', () => {
  const ask = async (query: Record<string, string>, url = service.url) => {
    const answer = await fetch(`${url}${PATH}?${new URLSearchParams(query)}`)
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
  }
  const good = { 'hub.mode': 'subscribe', 'hub.verify_token': 'verify-token', 'hub.challenge': '<b>1158201444</b>' }

  test('echoes the challenge as plain text', async () => {
    const answer = await ask(good)
    expect(answer).toMatchObject({ status: 200, text: good['hub.challenge'] })
    expect(answer.type).toMatch(/^text\/plain/)
  })

  test.each<[string, Record<string, string>]>([
    ['another token', { 'hub.verify_token': 'verify-tokem' }],
    ['a longer token', { 'hub.verify_token': 'verify-token-x' }],
    ['an empty token', { 'hub.verify_token': '' }],
    ['another mode', { 'hub.mode': 'unsubscribe' }],
  ])('is refused with %s', async (_name, wrong) => {
    const answer = await ask({ ...good, ...wrong })
    expect(answer.status).toBe(403)
    expect(answer.text).not.toContain('verify-token')
  })

  test.each(['hub.mode', 'hub.verify_token', 'hub.challenge'])('is refused without %s', async (name) => {
    const query: Record<string, string> = { ...good }
    delete query[name]
    expect((await ask(query)).status).toBe(403)
  })

  test('and every report are refused while no webhook is configured', async () => {
    const config = { ...service.config, cloudApi: { appSecret: undefined, verifyToken: undefined } }
    const app = await startApp(
      service.redis,
      webhookRoutes({
        ...{ redis: service.redis, config, log: silentLog, opaqueIds },
        ...{ seal: createSeal(['unused']), queues: openLaneQueues(service.redis) },
        tombstones: createTombstones(service.redis, ['unused']),
      }),
    )
    try {
      expect((await ask(good, app.url)).status).toBe(403)
      expect((await ask({ ...good, 'hub.verify_token': '' }, app.url)).status).toBe(403)
      const raw = JSON.stringify(webhook({}))
      for (const key of ['app-secret', '', 'undefined']) {
        const signature = `sha256=${createHmac('sha256', key).update(raw).digest('hex')}`
        expect((await postRaw(raw, { 'x-hub-signature-256': signature }, app.url)).status).toBe(401)
      }
    } finally {
      await app.close()
    }
  })
})

describe('a report', () => {
  test('with a signature that does not match its bytes is 401 and changes nothing', async () => {
    const sent = await claimed()
    const raw = Buffer.from(JSON.stringify(webhook({ statuses: [status(sent, 'delivered')] }), undefined, 1))
    const good = sign(raw)
    const rewritten = Buffer.from(JSON.stringify(JSON.parse(raw.toString('utf8'))))
    const flips = Array.from({ length: 40 }, (_, i) => {
      const flipped = Buffer.from(raw)
      const at = (i * 7) % raw.length
      flipped[at] = (flipped[at] ?? 0) ^ 1
      return flipped
    })
    const tries: [Buffer, string | undefined][] = [
      [raw, undefined],
      [raw, ''],
      [raw, good.replace('sha256=', 'sha1=')],
      [raw, good.slice(0, -1)],
      [rewritten, good],
      ...flips.map((flipped): [Buffer, string] => [flipped, good]),
    ]
    for (const [bytes, signature] of tries) {
      const answer = await postRaw(bytes, {
        'content-type': 'application/json',
        ...(signature === undefined ? {} : { 'x-hub-signature-256': signature }),
      })
      expect(answer.status, signature).toBe(401)
    }
    expect(await stateOf(sent)).toBe('sending')
    expect((await postRaw(raw, { 'x-hub-signature-256': good })).status).toBe(200)
    expect(await stateOf(sent)).toBe('delivered')
  })

  test('that is signed but not a webhook is 400', async () => {
    for (const raw of ['', 'x', '{}', '[]', 'null', '{"entry":5}']) {
      const answer = await postRaw(raw, { 'content-type': 'application/json', 'x-hub-signature-256': sign(raw) })
      expect(answer.status, raw).toBe(400)
    }
  })

  test('of more than 4 MB is 413', async () => {
    const raw = JSON.stringify(webhook({ x: 'y'.repeat(4 * 1024 * 1024) }))
    expect((await postRaw(raw, { 'x-hub-signature-256': sign(raw) })).status).toBe(413)
  })

  test('after a byte order mark is read like any other', async () => {
    const sent = await claimed()
    const raw = `\uFEFF${JSON.stringify(webhook({ statuses: [status(sent, 'delivered')] }))}`
    expect((await postRaw(raw, { 'x-hub-signature-256': sign(raw) })).status).toBe(200)
    expect(await stateOf(sent)).toBe('delivered')
  })

  test('with a bad item among good ones settles the good ones', async () => {
    const [one, two] = [await claimed(), await claimed()]
    const statuses = [status(one, 'sent'), null, { id: 5 }, status(two, 'exploded'), status(two, 'read')]
    expect((await post(webhook({ statuses }))).status).toBe(200)
    expect([await stateOf(one), await stateOf(two)]).toEqual(['sent', 'read'])
  })

  test('in any order and any number of times ends in the same state, with the same times', async () => {
    const orders = [
      ['sent', 'delivered', 'read'],
      ['read', 'delivered', 'sent'],
      ['delivered', 'sent', 'read', 'delivered'],
      ['failed', 'read', 'failed', 'sent'],
      ['read', 'failed'],
    ]
    for (const order of orders) {
      const sent = await claimed()
      for (const word of [...order, ...order]) await post(webhook({ statuses: [status(sent, word)] }))
      expect(await stateOf(sent), order.join()).toBe('read')
    }
    const together = await claimed()
    const statuses = ['read', 'sent', 'failed', 'delivered', 'read'].map((word) => status(together, word))
    await Promise.all([1, 2, 3].map(() => post(webhook({ statuses }))))
    expect(await stateOf(together)).toBe('read')
  })

  test('of a late failure fails the message with its reason; after delivery it changes nothing', async () => {
    const [late, delivered] = [await claimed(), await claimed()]
    await post(webhook({ statuses: [status(late, 'sent'), status(delivered, 'delivered')] }))
    await post(webhook({ statuses: [status(late, 'failed'), status(delivered, 'failed')] }))
    const told = await deliveryOf(service, tenant, late.name)
    expect(told.status).toBe('failed')
    expect(told.error_message).toContain('131026')
    const still = await deliveryOf(service, tenant, delivered.name)
    expect(still).toEqual({ status: 'delivered', error_message: null })
  })

  test('corrects a message that was counted as unknown', async () => {
    const sent = await claimed()
    await setUnconfirmed(service.redis, sent.id, 'AAAAAA', {
      problem: { code: 'reset', sentence: 'Lost.' },
      evidenceMs: 0,
    })
    await resolveUnconfirmed(service.redis, sent.id, 'AAAAAA', 'never', 1)
    expect((await deliveryOf(service, tenant, sent.name)).status).toBe('unknown')
    await post(webhook({ statuses: [status(sent, 'delivered')] }))
    expect(await deliveryOf(service, tenant, sent.name)).toEqual({ status: 'delivered', error_message: null })
  })

  test("dates the sending by WhatsApp's clock", async () => {
    const sent = await claimed()
    const toldS = Math.ceil(Date.now() / 1_000)
    await eventually(async () => Date.now() > (toldS + 1) * 1_000, 'that second is over')
    await post(webhook({ statuses: [status(sent, 'sent', { timestamp: String(toldS) })] }))
    expect((await infoOf(service, tenant, sent.name)).timestamp).toBe(toldS)
  })

  test('with a wrong clock dates nothing before the claim and nothing after now', async () => {
    const claimedS = Math.floor(Date.now() / 1_000)
    const [slow, fast] = [await claimed(), await claimed()]
    await post(
      webhook({
        statuses: [
          status(slow, 'sent', { timestamp: String(claimedS - 3_600) }),
          status(fast, 'sent', { timestamp: String(claimedS + 3_600) }),
        ],
      }),
    )
    for (const sent of [slow, fast]) {
      const { timestamp } = await infoOf(service, tenant, sent.name)
      expect(timestamp).toBeGreaterThanOrEqual(claimedS - 1)
      expect(timestamp).toBeLessThanOrEqual(Math.ceil(Date.now() / 1_000))
    }
  })

  test('that is dated ahead makes no delivery time longer than it was', async () => {
    const sent = await claimed()
    const took: (number | undefined)[] = []
    const own = connectWithRetry(service.server.url)
    try {
      observe(own, { ...nobody, changed: ({ sinceSentMs }) => void took.push(sinceSentMs) })
      await recordStatus(own, sent.id, 'AAAAAA', 'sent')
      await recordStatus(own, sent.id, 'AAAAAA', 'delivered', { atMs: Date.now() + 3_600_000 })
    } finally {
      own.disconnect()
    }
    expect(took).toEqual([undefined, expect.any(Number)])
    expect(took[1]).toBeLessThan(60_000)
  })

  test('of an older attempt that failed does not decide about the latest', async () => {
    const sent = await claimed('AAAAAA')
    await post(
      webhook({
        statuses: [{ ...status(sent, 'failed'), biz_opaque_callback_data: opaqueIds.sign(sent.name, 'ZZZZZZ') }],
      }),
    )
    expect(await stateOf(sent)).toBe('sending')
  })

  test('with an opaque field that is forged, foreign, cut or missing changes nothing', async () => {
    const sent = await claimed()
    const foreign = createOpaqueIds(['the secret key of another installation']).sign(sent.name, 'AAAAAA')
    const unsigned = sent.opaque.split('.').slice(0, 3).join('.')
    const swapped = opaqueIds.sign(messageId(other.cloudLane, sent.id.ulid), 'AAAAAA')
    const wrong = [foreign, unsigned, `${sent.opaque}x`, sent.opaque.slice(0, -1), sent.name, swapped, 'order-77', '']
    for (const biz_opaque_callback_data of wrong) {
      expect((await post(webhook({ statuses: [status(sent, 'read', { biz_opaque_callback_data })] }))).status).toBe(200)
    }
    expect(
      (await post(webhook({ statuses: [{ ...status(sent, 'read'), biz_opaque_callback_data: undefined }] }))).status,
    ).toBe(200)
    expect(await stateOf(sent)).toBe('sending')
  })

  test("without the opaque field changes nothing, although WhatsApp's id is known and the message has failed", async () => {
    const sent = await claimed()
    await recordStatus(service.redis, sent.id, 'AAAAAA', 'sent', { providerId: 'wamid.known' })
    const { biz_opaque_callback_data: _none, ...failed } = status(sent, 'failed', { id: 'wamid.known' })
    expect((await post(webhook({ statuses: [failed] }))).status).toBe(200)
    expect(await readMessage(service.redis, sent.id)).toMatchObject({ state: 'sent', providerId: 'wamid.known' })
    expect(await stateOf(sent)).toBe('sent')
    // Told once an hour, however many there are, and of nobody.
    expect((await post(webhook({ statuses: [failed, failed] }))).status).toBe(200)
    const told = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'webhook.status_without_id')
    expect(told).toHaveLength(1)
    expect(JSON.stringify(told)).not.toMatch(/wamid|491700000001/)
  })

  test('about a message whose record is gone stores nothing', async () => {
    const sent = await claimed()
    const record = messageRecord(service.redis, sent.id)
    await record.remove()
    expect((await post(webhook({ statuses: [status(sent, 'read')] }))).status).toBe(200)
    expect(await record.isThere()).toBe(false)
  })

  test('of a thousand updates is answered after each of them is settled', async () => {
    const many = await Promise.all(Array.from({ length: 1_000 }, () => claimed()))
    const answer = await post(webhook({ statuses: many.map((sent) => status(sent, 'delivered')) }))
    expect(answer.status).toBe(200)
    expect(new Set(await Promise.all(many.map(stateOf)))).toEqual(new Set(['delivered']))
  })
})

describe('a received message', () => {
  const received = (id: string, more: object = {}) => ({
    id,
    from: '491700000042',
    timestamp: String(NOW_S),
    type: 'text',
    text: { body: 'Is it still there?' },
    ...more,
  })

  test("is found by WhatsApp's id, and only by its account", async () => {
    expect((await post(webhook({ messages: [received('wamid.in1')] }))).status).toBe(200)
    expect(await infoOf(service, tenant, 'wamid.in1')).toEqual({
      message_id: 'wamid.in1',
      message_text: 'Is it still there?',
      message_type: 'text',
      message_from: '491700000042',
      direction: 'inbound',
      status: 'success',
      timestamp: NOW_S,
    })
    expect(await deliveryOf(service, tenant, 'wamid.in1')).toEqual({ status: 'delivered', error_message: null })
    expect(await lookUpStatus('wamid.in1', other)).toBe(404)
  })

  test('is stored once: a repeat neither doubles it nor extends its life', async () => {
    await post(webhook({ messages: [received('wamid.in2')] }))
    const record = receivedRecord(service.redis, tenant.account, 'wamid.in2')
    await record.expireIn(100_000)
    // Of the account alone: the process writes about itself meanwhile.
    const names = async () =>
      [
        ...(await namesWith(service.redis, `inbound:${tenant.account}:`)),
        ...(await namesOfAccount(service.redis, tenant.account, 'contacts')),
      ].sort()
    const before = await names()
    expect(before).not.toEqual([])
    await post(webhook({ messages: [received('wamid.in2'), received('wamid.in2')] }))
    expect(await names()).toEqual(before)
    expect(await record.livesMs()).toBeLessThanOrEqual(100_000)
  })

  test.each([
    ['an hour ahead', NOW_S + 3_600],
    ['that no calendar has', 9_000_000_000_000_000],
  ])('with a time %s is dated now, also in the list of messages', async (_name, timestamp) => {
    const id = `wamid.ahead${timestamp}`
    expect((await post(webhook({ messages: [received(id, { timestamp })] }))).status).toBe(200)
    expect((await infoOf(service, tenant, id)).timestamp).toBeLessThanOrEqual(Math.ceil(Date.now() / 1_000))
    const list = await tenant.api.get('/messages?direction=inbound')
    expect(list.status).toBe(200)
    expect(list.text).toContain(id)
  })

  test('for a number that belongs to nobody is ignored', async () => {
    expect((await post(webhook({ messages: [received('wamid.in3')] }, '999'))).status).toBe(200)
    expect(await lookUpStatus('wamid.in3')).toBe(404)
  })
})

describe('while Redis is away', () => {
  test('a report is 503 in time, and settles its messages when it is repeated', async () => {
    const sent = await claimed()
    const report = webhook({ statuses: [status(sent, 'delivered')] })
    await service.server.kill9()
    const away = await post(report)
    expect(away.status).toBe(503)
    expect(Number(away.headers.get('retry-after'))).toBeGreaterThan(0)
    await service.server.restart()
    await eventually(async () => (await post(report)).status === 200, 'the report is taken')
    expect(await stateOf(sent)).toBe('delivered')
  })

  test('a wrong signature is still refused with 401', async () => {
    await service.server.kill9()
    try {
      expect((await postRaw('{}', { 'x-hub-signature-256': sign('x') })).status).toBe(401)
    } finally {
      await service.server.restart()
      // One that has something to write.
      const report = webhook({ statuses: [status(await claimed(), 'read')] })
      await eventually(async () => (await post(report)).status === 200, 'the producer is back')
    }
  })
})

test('a report that arrives before our own answer is matched, and the answer does not undo it', async () => {
  const sent = await claimed('BBBBBB')
  expect((await post(webhook({ statuses: [status(sent, 'read')] }))).status).toBe(200)
  await recordStatus(service.redis, sent.id, 'BBBBBB', 'sent', { providerId: 'wamid.answer' })
  expect(await readMessage(service.redis, sent.id)).toMatchObject({ state: 'read', providerId: 'wamid.answer' })
})

test('while Redis is full, reports still count as evidence, also with new names of a person', async () => {
  const sent = await claimed('CCCCCC')
  await service.redis.config('SET', 'maxmemory', '1')
  try {
    const names = { recipient_id: '491700000077', recipient_user_id: 'DE.77' }
    // The names could not be kept, so it must be brought again.
    expect((await post(webhook({ statuses: [status(sent, 'delivered', names)] }))).status).toBe(503)
    expect(await stateOf(sent)).toBe('delivered')
  } finally {
    await service.redis.config('SET', 'maxmemory', '0')
  }
})
