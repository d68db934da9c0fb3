// Pins: the Cloud API wire of the simulator over real HTTP: answers, envelopes, and webhooks as a receiver sees them.

import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Simulator, startSimulator } from '../../packages/simulator/src/simulator.ts'
import { Webhooks } from '../../packages/simulator/src/webhooks.ts'
import {
  cloudText,
  idOf,
  post,
  postCloud,
  readHealth,
  readLedger,
  receiveInbound,
  SENDER_ID,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../support/simulator-wires.ts'

const TO = '+491701234567'
const DIGITS = '491701234567'
const SECRET = 'app-secret-of-this-test'

let simulator: Simulator
let receiver: WebhookReceiver
beforeAll(async () => {
  receiver = await startWebhookReceiver()
  simulator = await startSimulator({
    port: 0,
    tokens: ['token'],
    appSecret: SECRET,
    webhookUrl: receiver.url,
    sentMs: 0,
    deliveredMs: 40,
    readMs: 80,
  })
})
afterAll(async () => {
  await simulator.close()
  await receiver.close()
})
beforeEach(async () => {
  await fetch(`${simulator.url}/_ledger`, { method: 'DELETE' })
})

const statusesOf = (id: string) => receiver.statuses().filter((status) => status.id === id)
/** No webhook of an earlier test is on its way any more. */
const quiet = () => expect.poll(async () => (await webhookCounts()).waiting).toBe(0)
const webhookCounts = async () => (await readHealth(simulator.url)).webhooks

describe('a send', () => {
  test('to nobody is refused', async () => {
    const answer = await postCloud(simulator.url, cloudText(TO, { to: undefined }))
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 100 } } })
    expect(JSON.stringify(answer.body)).toContain('The parameter to is required.')
  })

  test('is acknowledged, and is in the ledger with the sender and the opaque data', async () => {
    const answer = await postCloud(simulator.url, cloudText(TO, { biz_opaque_callback_data: 'our-id' }))
    const id = idOf(answer)
    expect(answer.body).toEqual({
      messaging_product: 'whatsapp',
      contacts: [{ input: TO, wa_id: DIGITS }],
      messages: [{ id }],
    })
    expect(await readLedger(simulator.url)).toEqual([
      { at_ms: expect.any(Number), wire: 'cloud', id, opaque: 'our-id', to: DIGITS, sender: SENDER_ID },
    ])
  })

  test('of a template is acknowledged with a message status', async () => {
    const template = { name: 'order_update', language: { code: 'en_US' } }
    const answer = await postCloud(simulator.url, {
      messaging_product: 'whatsapp',
      to: TO,
      type: 'template',
      template,
    })
    expect(answer.body).toMatchObject({ messages: [{ message_status: 'accepted' }] })
  })
})

describe('a refusal', () => {
  test.each([
    ['no token', '', 401, { code: 104 }],
    ['a wrong token', 'Bearer other', 401, { code: 190, error_subcode: 467 }],
    ['another scheme', 'Basic dG9rZW4=', 401, { code: 104 }],
  ])('of %s is an OAuthException that names no field', async (_, authorization, status, error) => {
    const answer = await post(`${simulator.url}/v23.0/${SENDER_ID}/messages`, cloudText(TO), { authorization })
    expect(answer.status).toBe(status)
    expect(answer.body).toEqual({
      error: {
        message: expect.stringMatching(/token/),
        type: 'OAuthException',
        fbtrace_id: expect.any(String),
        ...error,
      },
    })
  })

  test('of a wrong shape is code 100 with the field in the message and no error_data', async () => {
    const answer = await postCloud(simulator.url, cloudText(TO, { text: { body: '' } }))
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({
      error: {
        message: "(#100) text['body']: Min length: 1",
        type: 'OAuthException',
        code: 100,
        fbtrace_id: expect.any(String),
      },
    })
  })

  test('of a wrong value has its title in the message and its details in error_data', async () => {
    const interactive = { type: 'button', body: { text: 'x' }, action: { buttons: [] } }
    const body = { messaging_product: 'whatsapp', to: TO, type: 'interactive', interactive }
    expect((await postCloud(simulator.url, body)).body).toEqual({
      error: {
        message: '(#131009) Parameter value is not valid',
        type: 'OAuthException',
        code: 131009,
        error_data: { messaging_product: 'whatsapp', details: "interactive['action']['buttons']: Min items: 1" },
        fbtrace_id: expect.any(String),
      },
    })
  })

  test.each(['/v23.0/not-a-number/messages', '/v23.0/1/deregister', '/v23.0/1'])(
    'of the path %s is 100 with subcode 33',
    async (path) => {
      const answer = await post(simulator.url + path, cloudText(TO), { authorization: 'Bearer token' })
      expect(answer.status).toBe(400)
      expect(answer.body).toMatchObject({ error: { code: 100, error_subcode: 33, type: 'GraphMethodException' } })
    },
  )

  test('leaves no line in the ledger', async () => {
    await postCloud(simulator.url, cloudText('x'))
    await postCloud(simulator.url, cloudText(TO), SENDER_ID, 'other')
    expect(await readLedger(simulator.url)).toEqual([])
  })
})

describe('status webhooks', () => {
  test('report sent, delivered and read, each with the recipient, our opaque data and the sender', async () => {
    const id = idOf(await postCloud(simulator.url, cloudText(TO, { biz_opaque_callback_data: 'our-id' })))
    await receiver.until(() => statusesOf(id).length === 3)
    expect(
      statusesOf(id)
        .map((one) => one.status)
        .sort(),
    ).toEqual(['delivered', 'read', 'sent'])
    for (const status of statusesOf(id)) {
      expect(status).toMatchObject({ recipient_id: DIGITS, biz_opaque_callback_data: 'our-id', sender: SENDER_ID })
      expect(Math.abs(Number(status.timestamp) * 1000 - Date.now())).toBeLessThan(20_000)
    }
  })

  test('of a failure carry the code, the title and the details', async () => {
    const id = idOf(await postCloud(simulator.url, cloudText('+15550100201')))
    await receiver.until(() => statusesOf(id).length === 1)
    expect(statusesOf(id)).toMatchObject([
      {
        status: 'failed',
        errors: [{ code: 131026, title: 'Message undeliverable', error_data: { details: expect.any(String) } }],
      },
    ])
  })

  test('leave the opaque data out when there was none', async () => {
    const id = idOf(await postCloud(simulator.url, cloudText(TO)))
    await receiver.until(() => statusesOf(id).length === 3)
    expect(statusesOf(id).some((status) => 'biz_opaque_callback_data' in status)).toBe(false)
  })

  test('are signed over the raw bytes, which differ from the parsed body serialised again', async () => {
    const id = idOf(await postCloud(simulator.url, cloudText(TO, { biz_opaque_callback_data: 'Grüße 👋' })))
    await receiver.until(() => statusesOf(id).length === 3)
    const one = receiver.posts.find((candidate) => candidate.statuses.some((status) => status.id === id))
    const sign = (bytes: Buffer) => `sha256=${createHmac('sha256', SECRET).update(bytes).digest('hex')}`
    const raw = one?.raw ?? Buffer.alloc(0)
    expect(one?.signature).toBe(sign(raw))
    expect(raw.toString('latin1')).toMatch(/^[\x20-\x7e]+$/)
    expect(sign(Buffer.from(JSON.stringify(JSON.parse(raw.toString('utf8')))))).not.toBe(one?.signature)
    expect(statusesOf(id)[0]?.biz_opaque_callback_data).toBe('Grüße 👋')
  })

  test('of many messages are neither lost nor doubled', async () => {
    const sent = await Promise.all(
      Array.from({ length: 600 }, async () => idOf(await postCloud(simulator.url, cloudText(TO), '77'))),
    )
    const ids = new Set(sent)
    const received = () => receiver.statuses().filter((status) => ids.has(status.id))
    await receiver.until(() => received().length >= 1800)
    expect(new Set(received().map((one) => `${one.id} ${one.status}`)).size).toBe(1800)
  })

  test('that are due together come in posts of at most a thousand, in order', async () => {
    const own = await startWebhookReceiver()
    const webhooks = new Webhooks(own.url, SECRET, () => '15550000077')
    const now = Date.now()
    const ids = Array.from({ length: 2500 }, (_, index) => `wamid.${index}`)
    for (const id of ids) {
      const message = { id, sender: '77', to: DIGITS, opaque: null, category: 'service' } as const
      webhooks.schedule({ message, update: { status: 'sent', dueMs: now, happenedMs: now } }, now)
    }
    await own.until(() => own.statuses().length === 2500)
    const posts = own.posts.toSorted((a, b) => Number(a.statuses[0]?.id.slice(6)) - Number(b.statuses[0]?.id.slice(6)))
    expect(posts.map((one) => one.statuses.length)).toEqual([1000, 1000, 500])
    expect(posts.flatMap((one) => one.statuses.map((status) => status.id))).toEqual(ids)
    await webhooks.close()
    await own.close()
  })

  test('are repeated with the same bytes until they are answered with 200', async () => {
    await quiet()
    const answers = [500, 503]
    receiver.answer = () => answers.shift() ?? 200
    const before = receiver.posts.length
    const id = idOf(await postCloud(simulator.url, cloudText('+15550100201')))
    await receiver.until(() => statusesOf(id).length === 1)
    const posts = receiver.posts.slice(before).filter((one) => one.statuses.some((status) => status.id === id))
    expect(posts.map((one) => one.answered)).toEqual([500, 503, 200])
    expect(new Set(posts.map((one) => one.signature)).size).toBe(1)
  })

  test('wait for a receiver that is away and reach it when it is back', async () => {
    const away = await startWebhookReceiver()
    await away.close()
    await post(`${simulator.url}/_control`, { webhook_url: away.url })
    const id = idOf(await postCloud(simulator.url, cloudText('+15550100201')))
    await expect.poll(async () => (await webhookCounts()).waiting).toBeGreaterThan(0)
    await post(`${simulator.url}/_control`, { webhook_url: receiver.url })
    await receiver.until(() => statusesOf(id).length === 1)
    await expect.poll(async () => (await webhookCounts()).waiting).toBe(0)
  })

  test('are not sent without an address', async () => {
    await post(`${simulator.url}/_control`, { webhook_url: null })
    const before = await webhookCounts()
    idOf(await postCloud(simulator.url, cloudText(TO)))
    expect(await webhookCounts()).toEqual(before)
    await post(`${simulator.url}/_control`, { webhook_url: receiver.url })
  })
})

describe('an inbound message', () => {
  const messageOf = (id: string) => receiver.posts.flatMap((one) => one.messages).find((message) => message.id === id)

  test('is delivered by signed webhook before the request for it is answered', async () => {
    const { id, delivered } = await receiveInbound(simulator.url, {
      sender: SENDER_ID,
      from: TO,
      text: 'Hallo, schön!',
    })
    expect(delivered).toBe(true)
    expect(messageOf(id)).toMatchObject({ from: DIGITS, type: 'text', text: { body: 'Hallo, schön!' } })
  })

  test.each(['image', 'video', 'document', 'audio', 'sticker', 'button'])('may be of type %s', async (type) => {
    const { id } = await receiveInbound(simulator.url, { sender: SENDER_ID, from: TO, type })
    expect(messageOf(id)).toMatchObject({ type, [type]: expect.any(Object) })
  })

  test('that the receiver does not accept is `delivered: false`, and comes again under the same id', async () => {
    await quiet()
    const answers = [500]
    receiver.answer = () => answers.shift() ?? 200
    const { id, delivered } = await receiveInbound(simulator.url, { sender: SENDER_ID, from: TO })
    expect(delivered).toBe(false)
    await receiver.until(() =>
      receiver.posts.some((one) => one.answered === 200 && one.messages.some((message) => message.id === id)),
    )
  })

  test.each([
    ['no sender', { from: TO }, 'sender: '],
    ['a sender that is no id', { sender: 'x', from: TO }, 'sender: must be a phone number id (digits)'],
    ['a person without a number', { sender: '1', from: 'x' }, 'from: must be a phone number with country code'],
    ['an unknown type', { sender: '1', from: TO, type: 'poem' }, 'type: '],
    ['an unknown field', { sender: '1', from: TO, colour: 'red' }, 'colour'],
  ])('with %s is refused with a sentence', async (_, body, sentence) => {
    const answer = await post(`${simulator.url}/_inbound`, body)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ message: expect.stringContaining(sentence) })
  })
})
