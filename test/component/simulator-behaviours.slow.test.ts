// Pins: every row of the table of misbehaviour, observed over real HTTP through the recipient's number. What is expected
// is written out here by hand, so that a change of the table shows.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Simulator, startSimulator } from '../../packages/simulator/src/simulator.ts'
import {
  cloudText,
  idOf,
  lookUp,
  partnerImage,
  postCloud,
  postPartner,
  readLedger,
  SENDER_ID,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../support/simulator-wires.ts'

const GOOD = '+491701234567'
const seen = new Set<string>()

let simulator: Simulator
let receiver: WebhookReceiver
let numbers: Map<string, string>
beforeAll(async () => {
  receiver = await startWebhookReceiver()
  simulator = await startSimulator({ port: 0, webhookUrl: receiver.url, sentMs: 0, deliveredMs: 50, readMs: 100 })
  const rows = z.array(z.object({ name: z.string(), number: z.string(), what: z.string() }))
  const table = rows.parse(await (await fetch(`${simulator.url}/_behaviours`)).json())
  numbers = new Map(table.map((row) => [row.name, row.number]))
})
afterAll(async () => {
  await simulator.close()
  await receiver.close()
})
beforeEach(async () => {
  await fetch(`${simulator.url}/_ledger`, { method: 'DELETE' })
})

/** The number that draws a behaviour, noted as observed. */
function numberOf(name: string): string {
  const number = numbers.get(name)
  if (number === undefined) throw new Error(`the table has no ${name}`)
  seen.add(name)
  return number
}

const statusesOf = (id: string) => receiver.statuses().filter((status) => status.id === id)

/** A cloud send whose answer is looked at as it comes. */
function sendRaw(to: string, signal?: AbortSignal): Promise<Response> {
  return fetch(`${simulator.url}/v23.0/${SENDER_ID}/messages`, {
    method: 'POST',
    headers: { authorization: 'Bearer token', 'content-type': 'application/json' },
    body: JSON.stringify(cloudText(to)),
    ...(signal === undefined ? {} : { signal }),
  })
}

const REFUSED: [name: string, http: number, code: number][] = [
  ['rate-limited', 429, 130429],
  ['pair-limited', 400, 131056],
  ['app-limited', 429, 4],
  ['spam-limited', 429, 131048],
  ['invalid-parameter', 400, 100],
  ['parameter-missing', 400, 131008],
  ['value-not-valid', 400, 131009],
  ['unsupported-type', 400, 131051],
  ['recipient-not-allowed', 400, 131030],
  ['template-unknown', 404, 132001],
  ['template-parameter-count', 400, 132000],
  ['template-paused', 400, 132015],
  ['token-expired', 401, 190],
  ['permission-denied', 403, 131005],
  ['account-locked', 403, 131031],
  ['policy-blocked', 403, 368],
  ['number-not-registered', 400, 133010],
  ['payment-refused', 400, 131042],
  ['server-error', 500, 131000],
  ['overloaded', 503, 2],
  ['unknown-error', 500, 1],
  ['maintenance', 500, 131057],
]

describe('refused', () => {
  test.each(REFUSED)(
    '%s is HTTP %i with code %i on both wires, every time, and not accepted',
    async (name, http, code) => {
      const to = numberOf(name)
      for (let round = 0; round < 2; round += 1) {
        for (const answer of [
          await postCloud(simulator.url, cloudText(to)),
          await postPartner(simulator.url, partnerImage(to)),
        ]) {
          expect(answer.status).toBe(http)
          expect(answer.body).toMatchObject({ error: { code } })
        }
      }
      expect(await readLedger(simulator.url)).toEqual([])
    },
  )

  test.each([
    ['rate-limited-once', 429, 130429],
    ['pair-limited-once', 400, 131056],
    ['unavailable-once', 500, 131016],
  ])('%s is HTTP %i with code %i, and fine the second time, on both wires', async (name, http, code) => {
    const to = numberOf(name)
    const sends = [() => postCloud(simulator.url, cloudText(to)), () => postPartner(simulator.url, partnerImage(to))]
    for (const send of sends) {
      const first = await send()
      expect(first.status).toBe(http)
      expect(first.body).toMatchObject({ error: { code } })
      idOf(await send())
    }
    expect(await readLedger(simulator.url)).toHaveLength(2)
  })

  test('only the limits of the number and of the app have a Retry-After', async () => {
    const retryAfter = async (name: string) =>
      (await postCloud(simulator.url, cloudText(numberOf(name)))).headers.get('retry-after')
    expect(await retryAfter('rate-limited')).toBe('1')
    expect(await retryAfter('app-limited')).toBe('60')
    expect(await retryAfter('pair-limited')).toBeNull()
    expect(await retryAfter('spam-limited')).toBeNull()
  })

  test('token-expired carries its subcode and overloaded that it is transient', async () => {
    const expired = await postCloud(simulator.url, cloudText(numberOf('token-expired')))
    expect(expired.body).toMatchObject({ error: { error_subcode: 463 } })
    const overloaded = await postCloud(simulator.url, cloudText(numberOf('overloaded')))
    expect(overloaded.body).toMatchObject({ error: { is_transient: true } })
  })
})

describe('accepted, then failed', () => {
  test.each([
    ['undeliverable', 131026],
    ['outside-window', 131047],
    ['unsupported-later', 131051],
    ['payment-issue', 131042],
    ['media-failed', 131053],
    ['marketing-held-back', 131049],
    ['opted-out', 131050],
    ['country-restricted', 130497],
    ['experiment', 130472],
    ['wrong-later', 131000],
  ])('%s fails with code %i, by webhook and in the lookup', async (name, code) => {
    const to = numberOf(name)
    const cloud = idOf(await postCloud(simulator.url, cloudText(to)))
    const partner = idOf(await postPartner(simulator.url, partnerImage(to)))
    await receiver.until(() => statusesOf(cloud).length > 0)
    expect(statusesOf(cloud)).toMatchObject([{ status: 'failed', errors: [{ code }] }])
    expect(await lookUp(simulator.url, partner)).toEqual({
      status: 'failed',
      error_message: expect.stringContaining(`(code ${code})`),
    })
  })
})

describe('status updates', () => {
  test.concurrent.each([
    ['late-failure', ['sent', 'failed']],
    ['duplicate-webhooks', ['sent', 'sent', 'delivered', 'delivered', 'read', 'read']],
    ['disordered-webhooks', ['read', 'delivered', 'sent']],
    ['skips-delivered', ['sent', 'read']],
    ['failed-after-delivered', ['sent', 'delivered', 'failed']],
  ])('%s: the webhooks report %j, in this order', async (name, expected) => {
    const id = idOf(await postCloud(simulator.url, cloudText(numberOf(name))))
    await receiver.until(() => statusesOf(id).length >= expected.length)
    expect(statusesOf(id).map((one) => one.status)).toEqual(expected)
  })

  test.concurrent('no-webhooks: none comes while those of a later message do, and the lookup stays at sent', async () => {
    const to = numberOf('no-webhooks')
    const silent = idOf(await postCloud(simulator.url, cloudText(to)))
    const looked = idOf(await postPartner(simulator.url, partnerImage(to)))
    const other = idOf(await postCloud(simulator.url, cloudText(GOOD)))
    await receiver.until(() => statusesOf(other).length === 3)
    expect(statusesOf(silent)).toEqual([])
    expect((await lookUp(simulator.url, looked)).status).toBe('sent')
  })

  test.concurrent('late-webhooks: none comes, and no lookup shows one, while a later message is read', async () => {
    const to = numberOf('late-webhooks')
    const late = idOf(await postCloud(simulator.url, cloudText(to)))
    const looked = idOf(await postPartner(simulator.url, partnerImage(to)))
    const other = idOf(await postCloud(simulator.url, cloudText(GOOD)))
    await receiver.until(() => statusesOf(other).length === 3)
    expect(statusesOf(late)).toEqual([])
    expect((await lookUp(simulator.url, looked)).status).toBe('accepted')
  })

  test('webhook-before-answer: the webhook is answered before the request is', async () => {
    const order: string[] = []
    receiver.answer = () => {
      order.push('webhook')
      return 200
    }
    const answer = await postCloud(simulator.url, cloudText(numberOf('webhook-before-answer')))
    order.push('answer')
    receiver.answer = () => 200
    // Where this process is late, the next ones are here as well by then.
    expect(order[0]).toBe('webhook')
    expect(statusesOf(idOf(answer))[0]?.status).toBe('sent')
    await receiver.until(() => statusesOf(idOf(answer)).length === 3)
  })
})

describe('transport', () => {
  /** Waits for the one ledger line that says the message was accepted. */
  const accepted = () => expect.poll(() => readLedger(simulator.url)).toHaveLength(1)

  test('slow: accepted at once, answered later', async () => {
    const answer = await postCloud(simulator.url, cloudText(numberOf('slow')))
    const answeredMs = Date.now()
    const [line] = await readLedger(simulator.url)
    expect(idOf(answer)).toBe(line?.id)
    // By what the ledger says: a machine that stands still may notice both at the same moment.
    expect(answeredMs - (line?.at_ms ?? answeredMs)).toBeGreaterThan(1_000)
  })

  test('hang: accepted, and no answer', async () => {
    const patience = new AbortController()
    let answered = false
    const answer = sendRaw(numberOf('hang'), patience.signal).finally(() => {
      answered = true
    })
    await accepted()
    idOf(await postCloud(simulator.url, cloudText(GOOD)))
    expect(answered).toBe(false)
    patience.abort()
    await expect(answer).rejects.toThrow()
  })

  test('hang-before-accepting: neither accepted nor answered', async () => {
    const patience = AbortSignal.timeout(300)
    await expect(sendRaw(numberOf('hang-before-accepting'), patience)).rejects.toMatchObject({ name: 'TimeoutError' })
    expect(await readLedger(simulator.url)).toEqual([])
  })

  test.each([
    ['reset-after-accepting', 1],
    ['reset-before-accepting', 0],
  ])('%s: the connection is reset, and the ledger has %i lines', async (name, lines) => {
    const to = numberOf(name)
    await expect(sendRaw(to)).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } })
    expect(await readLedger(simulator.url)).toHaveLength(lines)
    await expect(postPartner(simulator.url, partnerImage(to))).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } })
    expect(await readLedger(simulator.url)).toHaveLength(lines * 2)
  })

  test('cut-answer: 200 and a body that breaks off', async () => {
    const answer = await sendRaw(numberOf('cut-answer'))
    expect(answer.status).toBe(200)
    await expect(answer.text()).rejects.toThrow()
    await accepted()
  })

  test('garbage: 200 and a body that is not JSON', async () => {
    const answer = await sendRaw(numberOf('garbage'))
    expect(answer.status).toBe(200)
    const text = await answer.text()
    expect(() => JSON.parse(text)).toThrow()
    await accepted()
  })

  test('no-id: 200 and an acknowledgement without an id', async () => {
    const answer = await sendRaw(numberOf('no-id'))
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ messaging_product: 'whatsapp', messages: [{}] })
    await accepted()
  })

  test('plain-500 and error-after-accepting get equal answers, though only one was accepted', async () => {
    const looks = async (name: string) => {
      const answer = await sendRaw(numberOf(name))
      return [answer.status, answer.headers.get('content-type'), await answer.text()]
    }
    const refused = await looks('plain-500')
    expect(refused).toEqual([500, 'text/html; charset=utf-8', expect.stringContaining('<html>')])
    expect(await readLedger(simulator.url)).toEqual([])
    expect(await looks('error-after-accepting')).toEqual(refused)
    await accepted()
  })

  test('huge-body: an acknowledgement of 32 MB', async () => {
    const answer = await sendRaw(numberOf('huge-body'))
    const text = await answer.text()
    expect(text.length).toBeGreaterThan(32 * 1024 * 1024)
    expect(JSON.parse(text)).toMatchObject({ messages: [{ id: expect.any(String) }] })
    await accepted()
  })

  test('slow-drip: the answer comes byte by byte', async () => {
    const answer = await sendRaw(numberOf('slow-drip'))
    expect(answer.status).toBe(200)
    const pieces: number[] = []
    for await (const piece of answer.body ?? []) {
      pieces.push(piece.length)
      if (pieces.length === 3) break
    }
    expect(pieces).toEqual([1, 1, 1])
    await accepted()
  })
})

test('every row of the table was tested above', () => {
  expect([...numbers.keys()].filter((name) => !seen.has(name))).toEqual([])
})

test('a number in the reserved range without a row, and any other, behaves well', async () => {
  for (const to of ['+15550109999', GOOD]) {
    const id = idOf(await postCloud(simulator.url, cloudText(to)))
    await receiver.until(() => statusesOf(id).length === 3)
    expect(statusesOf(id).map((one) => one.status)).toEqual(['sent', 'delivered', 'read'])
  }
})
