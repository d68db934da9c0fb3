// Pins: what the client promises over both ways to Laneway, with workers there and away, Redis restarting, keys wrong.
// Real: Redis, producer, worker, client. Stood in for: WhatsApp.
import { createServer, type Server } from 'node:http'
import { text } from 'node:stream/consumers'
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
} from '../../packages/client/src/index.ts'
import { INTAKE_QUEUE } from '../../src/jobs/intake.ts'
import { pauseLane, resumeLane } from '../../src/lanes/control.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { takePort } from '../support/processes.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { loseIntakeJob, waitingInIntake } from '../support/state/queues.ts'
import { eventually } from '../support/wait.ts'
import { listen } from '../testbed/free-port.ts'

const image = (to: string): Message => ({ to, type: 'image', image: { link: 'https://example.com/a.jpg' } })

let service: Service
let tenant: Tenant
let queues: LaneQueues
const open: Laneway[] = []

beforeAll(async () => {
  service = await startService()
  // Its provider reports by itself; the other wire would be polled.
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  queues = openLaneQueues(service.redis)
})
afterAll(async () => {
  await Promise.all(open.map((laneway) => laneway.close()))
  await queues?.close()
  await service?.close()
})

type Way = 'through the intake queue' | 'over HTTP'
const WAYS: readonly [Way, number][] = [
  ['through the intake queue', 1],
  ['over HTTP', 2],
]

async function connect(way: Way, apiKey = tenant.apiKey): Promise<Laneway> {
  const { url, server } = service
  const laneway = await connectLaneway(way === 'over HTTP' ? { url, apiKey } : { redisUrl: server.url, apiKey })
  open.push(laneway)
  return laneway
}

/** Where the server listens. */
const listening = async (server: Server): Promise<string> => `http://127.0.0.1:${await listen(server)}`

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

/** `n`: where the numbers of this way begin, so that the ledger tells the two apart. */
describe.concurrent.each(WAYS)('sending %s', (way, n) => {
  test('resolves to an id that WhatsApp delivers and every lookup finds', async () => {
    const laneway = await connect(way)
    const id = await laneway.send(image(`+49 170 ${n}000001`))
    expect(await laneway.waitForOutcome(id)).toEqual({
      id,
      status: expect.stringMatching(/delivered|read/),
      errorMessage: null,
    })
    const http = { api_key: tenant.apiKey, message_id: id }
    expect((await service.post('/chatappbusiness/getmessgageinfobyid', http)).status).toBe(200)
    expect((await sentTo()).filter((to) => to === `49170${n}000001`)).toHaveLength(1)
  })

  test('leaves from the sender that a message names, and is rejected for one that the account does not have', async () => {
    const laneway = await connect(way)
    const id = await laneway.send({ ...image(`+49170${n}000008`), sender: `+${tenant.partnerNumber}` })
    expect(id).toMatch(new RegExp(`^msg_${tenant.partnerLane}_`))
    const unknown = await failureOf(laneway.send({ ...image(`+49170${n}000009`), sender: 'nobody' }))
    expect(unknown).toBeInstanceOf(LanewayRefused)
    expect(unknown).toMatchObject({ code: 'unknown_sender', details: [{ path: 'sender' }] })
  })

  test('with one idempotency key is one message, from however many clients', async () => {
    const clients = await Promise.all([connect(way), connect(way), connect(way)])
    const ids = await Promise.all(
      clients.map((laneway) => laneway.send(image(`+49170${n}000002`), { idempotencyKey: `order-2-${n}` })),
    )
    expect(new Set(ids).size).toBe(1)
  })

  test('is rejected with every fault of a message', async () => {
    const laneway = await connect(way)
    const failure = await failureOf(laneway.send({ to: '12', type: 'image', image: { link: 'nowhere' } }))
    expect(failure).toBeInstanceOf(LanewayRefused)
    expect(failure).toBeInstanceOf(LanewayError)
    expect(failure).toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/^to: expected a full international phone number/),
      details: [{ path: 'to' }, { path: 'image.link', message: expect.stringContaining('nowhere') }],
    })
  })

  test('makes no request for an empty list', async () => {
    expect(await (await connect(way)).sendMany([])).toEqual([])
  })

  test.each([
    ['an unknown key', async () => 'lw_nobody', 'unauthorized'],
    ['a key that may only read', () => tenant.key('messages:read'), 'forbidden'],
  ])('with %s is refused', async (_title, key, code) => {
    const laneway = await connect(way, await key())
    expect(await failureOf(laneway.send(image(`+49170${n}000003`)))).toMatchObject({ name: 'LanewayRefused', code })
  })
})

// By itself: nothing else is answered in time behind so many.
test.each(WAYS)('sending many %s gives each its own result, in order', async (way, n) => {
  const laneway = await connect(way)
  // More than one lot of jobs, and more than are requested at a time.
  const [count, bad] = way === 'over HTTP' ? [61, 50] : [601, 550]
  const items = Array.from({ length: count }, (_none, i) => ({ message: image(`+4917${n}${2_000_000 + i}`) }))
  items[bad] = { message: image('12') }
  const results = await laneway.sendMany(items, { timeoutMs: 300_000 })
  expect(results).toHaveLength(count)
  expect(results.flatMap((result, i) => (result.ok ? [] : [i]))).toEqual([bad])
  expect(results[bad]).toMatchObject({ ok: false, error: { code: 'invalid_request', details: [{ path: 'to' }] } })
  // As a log would write it.
  expect(JSON.parse(JSON.stringify(results[bad]))).toMatchObject({
    error: { name: 'LanewayRefused', message: expect.stringMatching(/^to: expected/), details: [{ path: 'to' }] },
  })
  const ids = results.flatMap((result) => (result.ok ? [result.id] : []))
  expect(new Set(ids).size).toBe(count - 1)
  await eventually(
    async () => new Set((await sentTo()).filter((to) => to.startsWith(`4917${n}2`))).size === count - 1,
    'all are sent',
  )
})

describe.concurrent.each(WAYS)('following %s', (way, n) => {
  test('yields the present state and every change until the outcome', async () => {
    const { apiKey, cloudLane } = await service.addTenant({ defaultProvider: 'cloud-api' })
    const laneway = await connect(way, apiKey)
    await pauseLane(service.redis, queues, cloudLane, { reason: 'a test', by: 'Ada' })
    const id = await laneway.send(image(`+49170${n}000005`))
    expect(await laneway.status(id)).toEqual({ id, status: 'queued', errorMessage: null })
    const early = await failureOf(laneway.waitForOutcome(id, { timeoutMs: 10_000 }))
    expect(early).toBeInstanceOf(LanewayTimeout)
    expect(early).toMatchObject({
      message: expect.stringMatching(/^After [\d.]+ s the message is in the state queued\.$/),
    })

    const changes: MessageStatus[] = []
    for await (const change of laneway.subscribe([id])) {
      changes.push(change)
      if (change.status === 'queued') await resumeLane(service.redis, queues, cloudLane)
    }
    expect(changes[0]).toEqual({ id, status: 'queued', errorMessage: null })
    expect(changes.at(-1)?.status).toMatch(/delivered|read/)
    expect(new Set(changes.map(({ status }) => status)).size).toBe(changes.length)
  })

  test('many at once ends when each has its outcome, and a failure comes with its reason', async () => {
    const laneway = await connect(way)
    const numbers = [`+49170${n}000006`, '+15550100101', `+49170${n}000007`]
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
    const laneway = await connect(way)
    const id = await laneway.send(image(`+49170${n}000008`))
    for await (const change of laneway.subscribe([id])) {
      expect(change.id).toBe(id)
      break
    }
  })

  test("is refused for another account's message, for one that does not exist, and with a key that may only send", async () => {
    const id = await (await connect(way)).send(image(`+49170${n}000009`))
    const other = await connect(way, (await service.addTenant()).apiKey)
    const sender = await connect(way, await tenant.key('messages:send'))
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

describe('while no worker runs', () => {
  test('the intake queue reports so in time, and what was asked is done later, once', async () => {
    const laneway = await connect('through the intake queue')
    await service.stopWorker()
    const ask = () => laneway.send(image('+491700000004'), { idempotencyKey: 'order-4', timeoutMs: 5_000 })
    expect(await failureOf(ask())).toBeInstanceOf(LanewayTimeout)
    await service.startWorker()
    await laneway.waitForOutcome(await laneway.send(image('+491700000004'), { idempotencyKey: 'order-4' }))
    expect((await sentTo()).filter((to) => to === '491700000004')).toHaveLength(1)
  })

  test('HTTP accepts a message and reports its state', async () => {
    const laneway = await connect('over HTTP')
    await service.stopWorker()
    const id = await laneway.send(image('+491700000014'))
    expect(await laneway.status(id)).toMatchObject({ status: 'queued' })
    await service.startWorker()
    expect(await laneway.waitForOutcome(id)).toMatchObject({ status: expect.stringMatching(/delivered|read/) })
  })
})

test('one idempotency key is one message across both ways', async () => {
  const keys = ['order-15', 'Bestellung für Jürgen']
  const ids = await Promise.all(
    WAYS.map(async ([way]) => {
      const laneway = await connect(way)
      return laneway.send(image('+491700000015'), { idempotencyKey: keys[0] ?? '' })
    }),
  )
  expect(new Set(ids).size).toBe(1)
  // A header cannot hold this one; over HTTP it is still one.
  const laneway = await connect('over HTTP')
  const twice = [1, 2].map(() => laneway.send(image('+491700000016'), { idempotencyKey: keys[1] ?? '' }))
  expect(new Set(await Promise.all(twice)).size).toBe(1)
})

test.each<[string, object]>([
  ['neither address', {}],
  ['both', { url: 'http://127.0.0.1:1', redisUrl: 'redis://127.0.0.1:1' }],
  ['one of another kind', { url: 'redis://127.0.0.1:1' }],
])('connecting with %s is an error of the caller', async (_title, addresses) => {
  const options = Object.assign({ url: '', apiKey: 'lw_x' }, { url: undefined }, addresses)
  expect(await failureOf(connectLaneway(options))).toBeInstanceOf(TypeError)
})

describe('over HTTP', () => {
  test("an answer of another server is not mistaken for Laneway's", async () => {
    const elsewhere = createServer((request, response) => {
      const away = request.url?.startsWith('/away')
      response.writeHead(away ? 502 : 302, { location: `${service.url}${request.url}` }).end('<html>')
    })
    const url = await listening(elsewhere)
    const other = await connectLaneway({ url, apiKey: tenant.apiKey })
    expect(await failureOf(other.send(image('+491700000017')))).toMatchObject({
      name: 'LanewayRefused',
      code: 'unexpected_answer',
    })
    const proxied = await connectLaneway({ url: `${url}/away/`, apiKey: tenant.apiKey })
    expect(await failureOf(proxied.status('msg_1_x', { timeoutMs: 5_000 }))).toBeInstanceOf(LanewayUnavailable)
    elsewhere.close()
  })

  test('a call that is refused for load is repeated after the time in the answer, until the call or the client ends', async () => {
    const asked: number[] = []
    const busy = createServer((request, response) => {
      asked.push(performance.now())
      const envelope = { message: 'Too many requests.', error: { code: 'rate_limited', details: [] } }
      const given = { messages: [{ id: 'msg_1_01M5VDB4Q2J0T5K9S3GZ7XW8CE' }] }
      const isAlways = request.url?.startsWith('/always')
      const refused = asked.length < 2 || isAlways
      // Nobody asks a second time while this test looks.
      const again = isAlways ? '20' : '1'
      response
        .writeHead(refused ? 429 : 200, { 'content-type': 'application/json', 'retry-after': again })
        .end(JSON.stringify(refused ? envelope : given))
    })
    const url = await listening(busy)
    const laneway = await connectLaneway({ url, apiKey: tenant.apiKey })
    expect(await laneway.send(image('+491700000019'))).toBe('msg_1_01M5VDB4Q2J0T5K9S3GZ7XW8CE')
    expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThan(950)

    const never = await connectLaneway({ url: `${url}/always`, apiKey: tenant.apiKey })
    const refusal = await failureOf(never.send(image('+491700000019'), { timeoutMs: 10_000 }))
    expect(refusal).toMatchObject({ name: 'LanewayRefused', code: 'rate_limited' })
    expect(asked).toHaveLength(3)

    // Node warns of a leak when more than ten listen to one signal, and a warning fails this file.
    const many = await connectLaneway({ url: `${url}/always`, apiKey: tenant.apiKey })
    const waiting = Array.from({ length: 12 }, (_none, i) => failureOf(many.send(image(`+49170000003${i}`))))
    await eventually(async () => asked.length >= 15, 'all are refused once')
    await many.close()
    for (const failure of await Promise.all(waiting)) expect(failure).toBeInstanceOf(LanewayUnavailable)
    busy.close()
  })

  test('a call whose answer was lost is repeated, and the message is sent once', async () => {
    let lost = 0
    const between = createServer(async (request, response) => {
      const key = request.headers['idempotency-key']
      const answer = await fetch(`${service.url}${request.url}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': z.string().parse(key) },
        body: await text(request),
      })
      if (lost < 2) {
        lost += 1
        request.socket.destroy()
        return
      }
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
    })
    const laneway = await connectLaneway({ url: await listening(between), apiKey: tenant.apiKey })
    const id = await laneway.send(image('+491700000018'))
    expect(lost).toBe(2)
    const direct = await connect('over HTTP')
    await direct.waitForOutcome(id)
    expect((await sentTo()).filter((to) => to === '491700000018')).toHaveLength(1)
    between.close()
  })
})

describe('when Redis goes away', () => {
  test('connecting to Redis fails at once where there is none; over HTTP the first call does', async () => {
    const { port, release } = await takePort()
    await release()
    const redisUrl = `redis://127.0.0.1:${port}`
    expect(await failureOf(connectLaneway({ redisUrl, apiKey: tenant.apiKey }))).toBeInstanceOf(LanewayUnavailable)
    const laneway = await connectLaneway({ url: `http://127.0.0.1:${port}`, apiKey: tenant.apiKey })
    expect(await failureOf(laneway.status('msg_1_x', { timeoutMs: 5_000 }))).toBeInstanceOf(LanewayUnavailable)
  })

  test('a call made meanwhile is done once when Redis is back', async () => {
    const laneway = await connect('through the intake queue')
    await service.server.kill9()
    expect(await failureOf(laneway.status('msg_1_x', { timeoutMs: 200 }))).toBeInstanceOf(LanewayUnavailable)
    const sending = laneway.sendMany([{ message: image('+491700000010') }, { message: image('+491700000011') }])
    await service.server.restart()
    const results = await sending
    expect(results).toMatchObject([{ ok: true }, { ok: true }])
    const ids = results.flatMap((result) => (result.ok ? [result.id] : []))
    for await (const change of laneway.subscribe(ids)) expect(change.status).not.toBe('failed')
    const counts = (await sentTo()).filter((to) => to === '491700000010' || to === '491700000011')
    expect(counts).toHaveLength(2)
  })

  test('a wait rejects when the client is closed', async () => {
    const laneway = await connect('through the intake queue')
    const id = await laneway.send(image('+15550100401'))
    await service.stopWorker()
    const waits = [failureOf(laneway.send(image('+491700000012'))), failureOf(laneway.waitForOutcome(id))]
    await eventually(async () => (await waitingInIntake(service.redis, INTAKE_QUEUE)) > 0, 'it waits')
    await laneway.close()
    for (const wait of waits) expect(await wait).toBeInstanceOf(LanewayUnavailable)
    expect(await failureOf(laneway.status(id))).toBeInstanceOf(LanewayUnavailable)
    await service.startWorker()
  })
})

test('a call whose job Redis forgot before its end was read is repeated', async () => {
  const laneway = await connect('through the intake queue')
  await service.stopWorker()
  const sending = laneway.send(image('+491700000013'))
  await eventually(async () => (await waitingInIntake(service.redis, INTAKE_QUEUE)) > 0, 'it waits')
  // As if so many others had ended since that this one was forgotten.
  await loseIntakeJob(service.redis, INTAKE_QUEUE)
  await service.startWorker()
  expect(await sending).toMatch(/^msg_/)
})
