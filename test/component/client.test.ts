// Pins: what the client promises, with workers there and away, Redis restarting, keys wrong. Real: Redis, producer,
// worker, client. Stood in for: the chat product.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  connectLaneway,
  type Laneway,
  LanewayError,
  LanewayRefused,
  LanewayTimeout,
  LanewayUnavailable,
  type Message,
  type MessageStatus,
} from '../../src/client/index.ts'
import { takePort } from '../support/processes.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const image = (to: string): Message => ({ to, type: 'image', image: { link: 'https://example.com/a.jpg' } })

let service: Service
let tenant: Tenant
const open: Laneway[] = []

beforeAll(async () => {
  service = await startService()
  tenant = await service.addTenant()
})
afterAll(async () => {
  await Promise.all(open.map((laneway) => laneway.close()))
  await service?.close()
})

async function connect(apiKey = tenant.apiKey, redisUrl = service.server.url): Promise<Laneway> {
  const laneway = await connectLaneway({ redisUrl, apiKey })
  open.push(laneway)
  return laneway
}

/** What a promise was rejected with. */
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no error',
    (error: unknown) => error,
  )

async function sentTo(): Promise<string[]> {
  const lines = (await (await fetch(`${service.simulator.url}/_ledger`)).text()).split('\n').filter(Boolean)
  return lines.map((line) => z.object({ to: z.string() }).parse(JSON.parse(line)).to)
}

describe('sending', () => {
  test('resolves to an id that the chat product delivers and that every lookup knows', async () => {
    const laneway = await connect()
    const id = await laneway.send(image('+49 170 0000001'))
    expect(await laneway.waitForOutcome(id)).toEqual({
      id,
      status: expect.stringMatching(/delivered|read/),
      errorMessage: null,
    })
    const http = { api_key: tenant.apiKey, message_id: id }
    expect((await service.post('/chatappbusiness/getmessgageinfobyid', http)).status).toBe(200)
    expect((await sentTo()).filter((to) => to === '491700000001')).toHaveLength(1)
  })

  test('with one idempotency key is one message, from however many clients', async () => {
    const clients = await Promise.all([connect(), connect(), connect()])
    const ids = await Promise.all(
      clients.map((laneway) => laneway.send(image('+491700000002'), { idempotencyKey: 'order-2' })),
    )
    expect(new Set(ids).size).toBe(1)
  })

  test('of what is wrong is rejected with every fault', async () => {
    const laneway = await connect()
    const failure = await failureOf(laneway.send({ to: '12', type: 'image', image: { link: 'nowhere' } }))
    expect(failure).toBeInstanceOf(LanewayRefused)
    expect(failure).toBeInstanceOf(LanewayError)
    expect(failure).toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/^to: expected a full international phone number/),
      details: [{ path: 'to' }, { path: 'image.link', message: expect.stringContaining('nowhere') }],
    })
  })

  test('of many gives each its own result, in their order', async () => {
    const laneway = await connect()
    const items = Array.from({ length: 601 }, (_none, n) => ({ message: image(`+4917${20_000_000 + n}`) }))
    items[550] = { message: image('12') }
    const results = await laneway.sendMany(items)
    expect(results).toHaveLength(601)
    expect(results.flatMap((result, i) => (result.ok ? [] : [i]))).toEqual([550])
    expect(results[550]).toMatchObject({ ok: false, error: { code: 'invalid_request', details: [{ path: 'to' }] } })
    // As a log would write it.
    expect(JSON.parse(JSON.stringify(results[550]))).toMatchObject({
      error: { name: 'LanewayRefused', message: expect.stringMatching(/^to: expected/), details: [{ path: 'to' }] },
    })
    const ids = results.flatMap((result) => (result.ok ? [result.id] : []))
    expect(new Set(ids).size).toBe(600)
    await eventually(
      async () => new Set((await sentTo()).filter((to) => to.startsWith('49172'))).size === 600,
      'all are sent',
    )
  })

  test('of none at all asks for nothing', async () => {
    expect(await (await connect()).sendMany([])).toEqual([])
  })

  test.each([
    ['an unknown key', async () => 'lw_nobody', 'unauthorized'],
    ['a key that may only read', () => tenant.key('messages:read'), 'forbidden'],
  ])('with %s is refused', async (_title, key, code) => {
    const laneway = await connect(await key())
    expect(await failureOf(laneway.send(image('+491700000003')))).toMatchObject({ name: 'LanewayRefused', code })
  })
})

describe('following', () => {
  test('tells the present status and every change until the outcome', async () => {
    const laneway = await connect()
    await service.stopWorker()
    const slow = await failureOf(laneway.send(image('+491700000004'), { idempotencyKey: 'order-4', timeoutMs: 200 }))
    expect(slow).toBeInstanceOf(LanewayTimeout)
    const body = { api_key: tenant.apiKey, recipient_type: 'individual', messaging_product: 'chatapp' }
    const send = { ...body, ...image('+491700000005') }
    const answer = await service.post('/sendservicemessages/sendmessages', send)
    const { messages } = z.object({ messages: z.tuple([z.object({ id: z.string() })]) }).parse(answer.body)
    const [{ id }] = messages

    expect(await laneway.status(id)).toEqual({ id, status: 'queued', errorMessage: null })
    const early = await failureOf(laneway.waitForOutcome(id, { timeoutMs: 300 }))
    expect(early).toBeInstanceOf(LanewayTimeout)
    expect(early).toMatchObject({
      message: expect.stringMatching(/^After [\d.]+ s the message is in the state queued\.$/),
    })

    const changes: MessageStatus[] = []
    for await (const change of laneway.subscribe([id])) {
      changes.push(change)
      if (change.status === 'queued') await service.startWorker()
    }
    expect(changes[0]).toEqual({ id, status: 'queued', errorMessage: null })
    expect(changes.at(-1)?.status).toMatch(/delivered|read/)
    expect(new Set(changes.map(({ status }) => status)).size).toBe(changes.length)

    // What was not answered in time was done all the same, and asking again tells its id.
    const late = await laneway.send(image('+491700000004'), { idempotencyKey: 'order-4' })
    await laneway.waitForOutcome(late)
    expect((await sentTo()).filter((to) => to === '491700000004')).toHaveLength(1)
  })

  test('many at once ends when each has its outcome, and a failure says why', async () => {
    const laneway = await connect()
    const numbers = ['+491700000006', '+15550100101', '+491700000007']
    const results = await laneway.sendMany(numbers.map((to) => ({ message: image(to) })))
    const ids = results.flatMap((result) => (result.ok ? [result.id] : []))
    const last = new Map<string, MessageStatus>()
    for await (const change of laneway.subscribe(ids)) last.set(change.id, change)
    expect(ids.map((id) => last.get(id)?.status)).toEqual([
      expect.stringMatching(/delivered|read/),
      'failed',
      expect.stringMatching(/delivered|read/),
    ])
    expect(last.get(ids[1] ?? '')?.errorMessage).toContain('code 100')
  })

  test('ends when the loop is left', async () => {
    const laneway = await connect()
    const id = await laneway.send(image('+491700000008'))
    for await (const change of laneway.subscribe([id])) {
      expect(change.id).toBe(id)
      break
    }
  })

  test("another account's message, one that is not there, and a key that may only send are refused", async () => {
    const id = await (await connect()).send(image('+491700000009'))
    const other = await connect((await service.addTenant()).apiKey)
    const sender = await connect(await tenant.key('messages:send'))
    for (const [laneway, asked, code] of [
      [other, id, 'not_found'],
      [other, 'nonsense', 'not_found'],
      [sender, id, 'forbidden'],
    ] as const) {
      expect(await failureOf(laneway.status(asked))).toMatchObject({ name: 'LanewayRefused', code })
      expect(await failureOf(laneway.waitForOutcome(asked))).toMatchObject({ name: 'LanewayRefused', code })
    }
  })
})

describe('when Redis goes away', () => {
  test('connecting fails at once where there is none', async () => {
    const { port, release } = await takePort()
    await release()
    const redisUrl = `redis://127.0.0.1:${port}`
    expect(await failureOf(connectLaneway({ redisUrl, apiKey: tenant.apiKey }))).toBeInstanceOf(LanewayUnavailable)
  })

  test('what is asked meanwhile is done once when it is back', async () => {
    const laneway = await connect()
    await service.server.kill9()
    expect(await failureOf(laneway.status('msg_1_x'))).toBeInstanceOf(LanewayUnavailable)
    const sending = laneway.sendMany([{ message: image('+491700000010') }, { message: image('+491700000011') }])
    await service.server.restart()
    const results = await sending
    expect(results).toMatchObject([{ ok: true }, { ok: true }])
    const ids = results.flatMap((result) => (result.ok ? [result.id] : []))
    for await (const change of laneway.subscribe(ids)) expect(change.status).not.toBe('failed')
    const counts = (await sentTo()).filter((to) => to === '491700000010' || to === '491700000011')
    expect(counts).toHaveLength(2)
  })

  test('whoever waits is told when the client is closed', async () => {
    const laneway = await connect()
    const id = await laneway.send(image('+15550100401'))
    await service.stopWorker()
    const waits = [failureOf(laneway.send(image('+491700000012'))), failureOf(laneway.waitForOutcome(id))]
    await eventually(async () => (await service.redis.llen('bull:laneway-intake:wait')) > 0, 'it waits')
    await laneway.close()
    for (const wait of waits) expect(await wait).toBeInstanceOf(LanewayUnavailable)
    expect(await failureOf(laneway.status(id))).toBeInstanceOf(LanewayUnavailable)
    await service.startWorker()
  })
})

test('what Redis has forgotten before its end was read is asked for again', async () => {
  const laneway = await connect()
  await service.stopWorker()
  const sending = laneway.send(image('+491700000013'))
  await eventually(async () => (await service.redis.llen('bull:laneway-intake:wait')) > 0, 'it waits')
  // As if so many others had ended since that this one was forgotten.
  const [id = ''] = await service.redis.lrange('bull:laneway-intake:wait', 0, 0)
  await service.redis.multi().lrem('bull:laneway-intake:wait', 0, id).del(`bull:laneway-intake:${id}`).exec()
  await service.startWorker()
  expect(await sending).toMatch(/^msg_/)
})
