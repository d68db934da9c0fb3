// Pins: the partner wire of the simulator over real HTTP: acknowledgement, refusals, lookups, idempotency, ledger.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Simulator, startSimulator } from '../../packages/simulator/src/simulator.ts'
import {
  idOf,
  lookUp,
  partnerImage,
  partnerTemplate,
  post,
  postPartner,
  readLedger,
  receiveInbound,
} from '../support/simulator-wires.ts'

const TO = '+49 170 1234567'
const DIGITS = '491701234567'
const HOUR_MS = 3_600_000

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ port: 0, tokens: ['key'], sentMs: 0, deliveredMs: 0, readMs: 0 })
})
afterAll(() => simulator.close())
beforeEach(async () => {
  await fetch(`${simulator.url}/_ledger`, { method: 'DELETE' })
})

describe('a send', () => {
  test('is acknowledged with the recipient as given, its digits and an id of WhatsApp', async () => {
    const answer = await postPartner(simulator.url, partnerImage(TO))
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      messaging_product: 'chatapp',
      contacts: [{ input: TO, wa_id: DIGITS }],
      messages: [{ id: expect.stringMatching(/^wamid\./) }],
    })
  })

  test('writes one ledger line with its id, the Idempotency-Key and the recipient', async () => {
    const id = idOf(await postPartner(simulator.url, partnerImage(TO), { 'idempotency-key': 'k-1' }))
    expect(await readLedger(simulator.url)).toEqual([
      { at_ms: expect.any(Number), wire: 'partner', id, opaque: 'k-1', to: DIGITS, sender: null },
    ])
  })

  test('of a template names its sender in the ledger', async () => {
    idOf(await postPartner(simulator.url, partnerTemplate(TO)))
    expect(await readLedger(simulator.url)).toMatchObject([{ opaque: null, sender: '15550200001' }])
  })
})

describe('a refusal', () => {
  const envelope = (code: number) => ({
    status: false,
    success: false,
    message: expect.any(String),
    error: { code, details: expect.any(String) },
  })

  test.each([
    ['a missing key', { api_key: undefined }, 401, 104],
    ['a key that is no text', { api_key: 5 }, 401, 104],
    ['an unknown key', { api_key: 'other' }, 401, 190],
    ['a missing recipient', { to: undefined }, 400, 100],
    ['a caption that is too long', { image: { link: 'https://a.example/b', caption: 'x'.repeat(1025) } }, 400, 131009],
  ])('of %s carries the code and leaves no ledger line', async (_, more, status, code) => {
    const answer = await postPartner(simulator.url, partnerImage(TO, more))
    expect(answer.status).toBe(status)
    expect(answer.body).toEqual(envelope(code))
    expect(await readLedger(simulator.url)).toEqual([])
  })

  test.each([
    ['a body that is not JSON', '{', {}, 'The body is not valid JSON.'],
    ['a body that is no object', '[]', {}, 'The body is not a JSON object.'],
    [
      'a body of more than a megabyte',
      JSON.stringify({ x: 'x'.repeat(1024 * 1024) }),
      {},
      'The body is larger than 1048576 bytes.',
    ],
    [
      'a body that does not say it is JSON',
      JSON.stringify(partnerImage(TO)),
      { 'content-type': 'text/plain' },
      'The Content-Type must be application/json.',
    ],
  ])('of %s is code 100 and states why', async (_, body, headers, details) => {
    const answer = await post(`${simulator.url}/sendservicemessages/sendmessages`, body, headers)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ ...envelope(100), error: { code: 100, details } })
  })

  test('of a template at the endpoint of service messages, and the reverse, is code 100', async () => {
    const service = await post(`${simulator.url}/sendservicemessages/sendmessages`, partnerTemplate(TO))
    const template = await post(`${simulator.url}/chatappbusiness/send-templated-message`, partnerImage(TO))
    expect(service.body).toEqual(envelope(100))
    expect(template.body).toEqual(envelope(100))
  })

  test('of an unknown path is 404, of another method 405 with Allow', async () => {
    expect((await post(`${simulator.url}/sendservicemessages`, partnerImage(TO))).status).toBe(404)
    const get = await fetch(`${simulator.url}/sendservicemessages/sendmessages`)
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST'])
  })
})

describe('a lookup', () => {
  test('of the status returns the state of the message, without an error', async () => {
    const id = idOf(await postPartner(simulator.url, partnerImage(TO)))
    expect(await lookUp(simulator.url, id)).toEqual({ status: 'read', error_message: null })
  })

  test('of the status returns why a message failed, with the code', async () => {
    const id = idOf(await postPartner(simulator.url, partnerImage('+15550100201')))
    const { status, error_message } = await lookUp(simulator.url, id)
    expect(status).toBe('failed')
    expect(error_message).toMatch(/^Message undeliverable: .* \(code 131026\)$/)
  })

  test('of the status is `accepted` until the message is sent', async () => {
    const slow = await startSimulator({ port: 0, sentMs: HOUR_MS, deliveredMs: HOUR_MS, readMs: HOUR_MS })
    const id = idOf(await postPartner(slow.url, partnerImage(TO)))
    expect(await lookUp(slow.url, id)).toEqual({ status: 'accepted', error_message: null })
    await slow.close()
  })

  test('of the status still answers after a restart', async () => {
    const first = await startSimulator({ port: 0 })
    const id = idOf(await postPartner(first.url, partnerImage('+15550100202')))
    await first.close()
    expect(await lookUp(simulator.url, id)).toMatchObject({ status: 'failed', error_message: /131047/ })
  })

  test('of the info returns every field', async () => {
    const id = idOf(await postPartner(simulator.url, partnerImage(TO)))
    const answer = await post(`${simulator.url}/chatappbusiness/fetchmessageinfo`, { api_key: 'key', message_id: id })
    expect(answer.body).toEqual({
      status: true,
      message: {
        data: {
          message_id: id,
          message_text: 'Look',
          message_type: 'image',
          message_from: '15550200000',
          direction: 'outbound',
          status: 'success',
          timestamp: expect.any(Number),
        },
      },
    })
  })

  test('of the info is failed for a failed message, and inbound for a received one', async () => {
    const info = async (id: string) =>
      (await post(`${simulator.url}/chatappbusiness/fetchmessageinfo`, { api_key: 'key', message_id: id })).body
    const failed = idOf(await postPartner(simulator.url, partnerTemplate('+15550100201')))
    expect(await info(failed)).toMatchObject({ message: { data: { status: 'failed', message_from: '15550200001' } } })
    const { id } = await receiveInbound(simulator.url, { sender: '1', from: TO, text: 'Hi' })
    expect(await info(id)).toMatchObject({
      message: { data: { direction: 'inbound', message_from: DIGITS, message_text: 'Hi', message_type: 'text' } },
    })
  })

  test.each(['getmessgageinfobyid', 'fetchmessageinfo'])(
    '%s: unknown id 404, none 400, wrong key 401',
    async (path) => {
      const url = `${simulator.url}/chatappbusiness/${path}`
      expect((await post(url, { api_key: 'key', message_id: 'wamid.x' })).status).toBe(404)
      expect((await post(url, { api_key: 'key' })).status).toBe(400)
      expect((await post(url, { api_key: 'other', message_id: 'wamid.x' })).status).toBe(401)
    },
  )

  test('does not find a message of the cloud wire', async () => {
    const body = { messaging_product: 'whatsapp', to: TO, type: 'text', text: { body: 'x' } }
    const id = idOf(await post(`${simulator.url}/v23.0/1/messages`, body, { authorization: 'Bearer key' }))
    const answer = await post(`${simulator.url}/chatappbusiness/getmessgageinfobyid`, {
      api_key: 'key',
      message_id: id,
    })
    expect(answer.status).toBe(404)
  })
})

describe('an Idempotency-Key', () => {
  const send = (key: string) => postPartner(simulator.url, partnerImage(TO), { 'idempotency-key': key })
  const honour = (on: boolean) => post(`${simulator.url}/_control`, { honours_idempotency: on })

  test('has no effect by default: each repeat is another message', async () => {
    const first = idOf(await send('off'))
    expect(idOf(await send('off'))).not.toBe(first)
    expect(await readLedger(simulator.url)).toHaveLength(2)
  })

  test('that is honoured returns the first acknowledgement and adds no line', async () => {
    await honour(true)
    const first = await send('on')
    expect((await send('on')).body).toEqual(first.body)
    expect(idOf(await send('another'))).not.toBe(idOf(first))
    expect((await readLedger(simulator.url)).map((line) => line.opaque)).toEqual(['on', 'another'])
    await honour(false)
  })

  test('makes one message of many that arrive together', async () => {
    await honour(true)
    const ids = await Promise.all(Array.from({ length: 50 }, async () => idOf(await send('race'))))
    expect(new Set(ids).size).toBe(1)
    expect(await readLedger(simulator.url)).toHaveLength(1)
    await honour(false)
  })

  test('returns the acknowledgement that a reset swallowed the first time', async () => {
    await honour(true)
    const swallowed = () => postPartner(simulator.url, partnerImage('+15550100304'), { 'idempotency-key': 'reset' })
    await expect(swallowed()).rejects.toThrow()
    const [line] = await readLedger(simulator.url)
    expect(idOf(await swallowed())).toBe(line?.id)
    expect(await readLedger(simulator.url)).toHaveLength(1)
    await honour(false)
  })
})
