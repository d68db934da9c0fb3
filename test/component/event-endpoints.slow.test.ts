// Pins: endpoints are told what happens, signed, at least once, each by itself, and only where it is safe. Real: Redis,
// HTTP, producer, worker, the endpoints. Stood in for: WhatsApp.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readAuditLog } from '../../src/accounts/audit-log.ts'
import { messageId, newUlid, parseMessageId } from '../../src/kernel/message-id.ts'
import { recordStatus } from '../../src/lanes/messages/steps.ts'
import { events } from '../../src/producer/api/events/routes.ts'
import { claim } from '../support/claim.ts'
import { runCli } from '../support/cli.ts'
import { answerWith, type EventReceiver, startReceiver, take } from '../support/event-receiver.ts'
import { audioMessage, LONG_TIMES } from '../support/lane-redis.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { endpointRecord, listeningOf } from '../support/state/accounts.ts'
import { namesWith } from '../support/state/everything.ts'
import { messageRecord, outboxOf } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

let service: Service
const receivers: EventReceiver[] = []
beforeAll(async () => {
  service = await startService({
    env: { LANEWAY_EVENTS_ALLOW_PRIVATE: '127.0.0.0/8', LANEWAY_EVENTS_RETRY_SECONDS: '1,1,600' },
  })
})
afterAll(async () => {
  await service?.close()
  for (const receiver of receivers) await receiver.close()
})

const endpointShape = z.looseObject({
  id: z.string(),
  secret: z.string(),
  enabled: z.boolean(),
  disabled_for: z.string().nullable(),
})
const dataOf = <T>(schema: z.ZodType<T>, answer: { status: number; json: unknown }, status = 200): T => {
  expect(answer.status, JSON.stringify(answer.json)).toBe(status)
  return schema.parse(z.object({ data: z.unknown() }).parse(answer.json).data)
}

/** An account with a key for events and a receiver. */
async function listener() {
  const tenant = await service.addTenant()
  const api = await tenant.apiWith('events')
  const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    api.request(method, `/event-endpoints${path}`, body, headers)
  const receiver = await startReceiver()
  receivers.push(receiver)
  const create = async (fields: object = {}) => {
    const made = dataOf(endpointShape, await call('POST', '', { url: receiver.url, ...fields }), 201)
    receiver.secrets.push(made.secret)
    return made
  }
  const attempts = async (id: string) =>
    dataOf(
      z.array(
        z.looseObject({
          ok: z.boolean(),
          status: z.number().nullable(),
          answer: z.string(),
          problem: z.string().nullable(),
        }),
      ),
      await call('GET', `/${id}/attempts`),
    )
  return { tenant, call, receiver, create, attempts }
}

/** Some messages of the tenant become `sent`, then `delivered`; their ids. */
async function happen(tenant: Tenant, count = 1, lane = tenant.partnerLane): Promise<string[]> {
  const message = { ...audioMessage, validUntil: Date.now() + 3_600_000 }
  const ids = Array.from({ length: count }, () => ({ lane, ulid: newUlid(Date.now()) }))
  await Promise.all(
    ids.map(async (id) => {
      await claim(service.redis, id, 'AAAAAA', message, LONG_TIMES)
      await recordStatus(service.redis, id, 'AAAAAA', 'sent', { providerId: 'wamid.1' })
      await recordStatus(service.redis, id, 'AAAAAA', 'delivered')
    }),
  )
  return ids.map(({ lane: of, ulid }) => messageId(of, ulid))
}
const toldOf = (receiver: EventReceiver, id: string | undefined) => receiver.events().filter((event) => event.id === id)

// Each has an account of its own, and most wait for the relay, which reads changes about once a second.
describe.concurrent('an endpoint', () => {
  test('receives each event of its types by itself, signed, without number and text', async () => {
    const { tenant, receiver, create, attempts } = await listener()
    const endpoint = await create()
    const [id] = await happen(tenant)
    await eventually(async () => receiver.taken.length >= 1, 'the event')
    // At least once, and nothing else.
    for (const told of receiver.all)
      expect(told).toMatchObject({ isBatch: false, events: [{ type: 'message.delivered', id, seq: 4 }] })
    expect(receiver.all[0]?.id).toBe(receiver.all[0]?.events[0]?.data.event_id)
    expect(JSON.stringify(receiver.all)).not.toMatch(/491700000001|wamid/)
    const log = await eventually(
      async () => (await attempts(endpoint.id)).length > 0 && attempts(endpoint.id),
      'the log',
    )
    for (const attempt of log) expect(attempt).toMatchObject({ ok: true, status: 204, problem: null })
  })

  test('that asks only for deliveries receives a reading that comes first, also by a replay', async () => {
    const { tenant, call, receiver, create } = await listener()
    const endpoint = await create({ types: ['message.delivered'] })
    const id = { lane: tenant.partnerLane, ulid: newUlid(Date.now()) }
    await claim(service.redis, id, 'AAAAAA', { ...audioMessage, validUntil: Date.now() + 3_600_000 }, LONG_TIMES)
    await recordStatus(service.redis, id, 'AAAAAA', 'sent')
    await recordStatus(service.redis, id, 'AAAAAA', 'read')
    const told = { type: 'message.delivered', data: { seq: 4, state: 'read' } }
    await eventually(async () => receiver.all.length >= 1, 'the event')
    expect(receiver.all[0]?.events).toMatchObject([told])
    const since = new Date(Date.now() - 60_000).toISOString()
    for (const types of [['message.delivered'], ['message.read', 'message.delivered']]) {
      const before = receiver.all.length
      await call('POST', `/${endpoint.id}/replay`, { since, types })
      await eventually(async () => receiver.all.length > before, 'the replay')
      const [{ type } = { type: '' }] = receiver.all.at(-1)?.events ?? []
      expect(type).toBe(types.length === 1 ? 'message.delivered' : 'message.read')
    }
  })

  test('receives batches up to its limit, in order and complete', async () => {
    const { tenant, receiver, create } = await listener()
    await create({ batch: { max_events: 100, max_wait_ms: 200 }, types: ['message.sent', 'message.delivered'] })
    const begun = performance.now()
    const ids = await happen(tenant, 250)
    const tookMs = performance.now() - begun
    // Each at least once: where a slow machine costs the relay its place, some are told again.
    const seqsOf = (id: string) => [...new Set(toldOf(receiver, id).map(({ seq }) => seq))]
    await eventually(async () => ids.every((id) => seqsOf(id).length === 2), 'all events')
    expect(receiver.all.every(({ isBatch, events }) => isBatch && events.length <= 100)).toBe(true)
    for (const id of ids) expect(seqsOf(id)).toEqual([3, 4])
    // Few of them were nearly empty: no more than may have been full of time while things still happened.
    expect(receiver.all.length).toBeLessThan(20 + tookMs / 200)
  })

  test('receives the event of a quiet sender while a busy one has many', async () => {
    const { tenant, call, receiver, create } = await listener()
    const { id: endpoint } = await create({ enabled: false })
    await happen(tenant, 200, tenant.partnerLane)
    const [quiet] = await happen(tenant, 1, tenant.cloudLane)
    await call('PATCH', `/${endpoint}`, { enabled: true })
    await eventually(async () => receiver.events().length >= 201, 'all events')
    // What the busy one has stands in entries of up to a hundred, and an entry is told whole.
    expect(receiver.events().findIndex(({ id }) => id === quiet)).toBeLessThan(200)
  })

  test('receives the event of a message whose record is broken, and those of its neighbours', async () => {
    const { tenant, call, receiver, create } = await listener()
    const { id: endpoint } = await create({ enabled: false, batch: { max_events: 100 } })
    const [broken = '', whole] = await happen(tenant, 2)
    const id = parseMessageId(broken)
    await messageRecord(service.redis, { lane: tenant.partnerLane, ulid: id?.ulid ?? '' }).ruin('not a hash')
    await call('PATCH', `/${endpoint}`, { enabled: true })
    await eventually(async () => toldOf(receiver, whole).length > 0, 'the events')
    expect(receiver.events().find((event) => event.id === broken)?.data).toMatchObject({ class: null, kind: null })
    expect(receiver.events().find((event) => event.id === whole)?.data).toMatchObject({ kind: 'audio' })
  })

  test('with content receives numbers and texts, and one for a sender only events of that sender', async () => {
    const { tenant, receiver, create } = await listener()
    await create({ include_content: true, senders: [`+${tenant.cloudNumber}`] })
    await happen(tenant, 1, tenant.partnerLane)
    const [id] = await happen(tenant, 1, tenant.cloudLane)
    await eventually(async () => toldOf(receiver, id).length > 0, 'the event')
    expect(new Set(receiver.events().map((event) => event.id))).toEqual(new Set([id]))
    expect(receiver.events()[0]?.data).toMatchObject({ to: audioMessage.to, text: 'x', provider_id: 'wamid.1' })
  })

  test('that fails is tried again under the same id, and receives new events meanwhile', async () => {
    const { tenant, receiver, create, attempts } = await listener()
    const endpoint = await create()
    let refused = 0
    const [first] = await happen(tenant)
    receiver.behave = (request, response, delivery) => {
      const isFirst = delivery.events.some(({ id }) => id === first)
      if (!isFirst || refused >= 2) return take(request, response, delivery)
      refused += 1
      answerWith(500, {}, 'call 4917612345678, secret whsec_0123456789012345678901234567')(request, response, delivery)
    }
    await eventually(async () => refused > 0, 'a failure')
    const [second] = await happen(tenant)
    await eventually(async () => toldOf(receiver, second).length > 0, 'the second')
    await eventually(async () => toldOf(receiver, first).length > 0, 'the first')
    const ofFirst = receiver.all.filter(({ events }) => events.some(({ id }) => id === first))
    expect(new Set(ofFirst.map(({ id }) => id)).size).toBe(1)
    expect(ofFirst).toHaveLength(3)
    const failed = (await attempts(endpoint.id)).filter(({ ok }) => !ok)
    expect(failed).toHaveLength(2)
    expect(failed[0]?.answer).toBe('call …, secret …')
  })

  test('that answers 410 is disabled at once, which the others receive as an event; once enabled it continues where it stopped', async () => {
    const { tenant, receiver, create, call } = await listener()
    const other = await startReceiver()
    receivers.push(other)
    const endpoint = await create()
    await call('POST', '', { url: other.url, types: ['endpoint.disabled'] })
    receiver.behave = answerWith(410)
    const [id] = await happen(tenant)
    await eventually(async () => other.events().length > 0, 'endpoint.disabled')
    for (const told of other.events())
      expect(told).toMatchObject({ type: 'endpoint.disabled', id: endpoint.id, data: { reason: 'gone' } })
    expect(dataOf(endpointShape.omit({ secret: true }), await call('GET', `/${endpoint.id}`))).toMatchObject({
      enabled: false,
      disabled_for: 'gone',
    })
    const page = { account: tenant.account, limit: 10, cursor: undefined }
    const acts = async () => (await readAuditLog(service.redis, page, Date.now())).entries
    const told = async () => (await acts()).find(({ action }) => action === 'endpoint.disable')
    expect(await eventually(told, 'the activity tells of it')).toMatchObject({
      ...{ actor: { system: 'Laneway' }, target: endpoint.id, detail: expect.stringContaining('410') },
    })
    receiver.behave = take
    await call('PATCH', `/${endpoint.id}`, { enabled: true })
    await eventually(async () => toldOf(receiver, id).length > 0, 'what it had missed')
  })

  test('that fails for five days without a success is disabled', async () => {
    const { tenant, receiver, create, call } = await listener()
    const endpoint = await create()
    await endpointRecord(service.redis, tenant.account, endpoint.id).change({
      failing_since: Date.now() - 5 * 86_400_000,
    })
    receiver.behave = answerWith(503)
    await happen(tenant)
    const operator = await service.operator()
    const failing = async (more: { account?: number } = {}) =>
      (await operator.call(events.list, { query: { failing: 'true', ...more } })).data
    // It is told that the other one is disabled, which must not fail as well.
    const good = await startReceiver()
    receivers.push(good)
    const idle = await create({ url: good.url })
    const isListed = async () => (await failing()).find(({ id }) => id === endpoint.id)
    expect(await eventually(isListed, 'an operator sees it among all that fail')).toMatchObject({
      account: tenant.account,
    })
    expect((await failing()).map(({ id }) => id)).not.toContain(idle.id)
    expect((await failing({ account: tenant.account })).map(({ id }) => id)).toEqual([endpoint.id])
    const env = service.settings
    const { code, stdout } = await runCli(['events', 'endpoints', 'list'], env)
    expect([code, stdout]).toEqual([0, expect.stringMatching(new RegExp(`${endpoint.id} +${tenant.account} `))])
    const without = await runCli(['events', 'endpoints', 'show', endpoint.id], env)
    expect(without).toMatchObject({ code: 1, stderr: 'error: --account: required. [account_required]\n' })
    const shown = async () => dataOf(endpointShape.omit({ secret: true }), await call('GET', `/${endpoint.id}`))
    await eventually(async () => !(await shown()).enabled, 'disabled')
    expect((await shown()).disabled_for).toBe('failing')
  })

  test('has its redirects ignored, and one that hangs delays no other', async () => {
    const { tenant, receiver, create, call, attempts } = await listener()
    const [away, hanging] = [await startReceiver(), await startReceiver()]
    receivers.push(away, hanging)
    await call('POST', '', { url: hanging.url })
    hanging.behave = () => undefined
    receiver.behave = answerWith(307, { location: away.url })
    const endpoint = await create()
    const third = await startReceiver()
    receivers.push(third)
    await call('POST', '', { url: third.url })
    const [id] = await happen(tenant)
    await eventually(async () => toldOf(third, id).length > 0, 'the third')
    await eventually(async () => (await attempts(endpoint.id)).some(({ status }) => status === 307), 'the redirect')
    await eventually(async () => hanging.all.length > 0, 'the one that hangs')
    expect([away.all, hanging.taken]).toEqual([[], []])
  })
})

describe.concurrent('an endpoint can', () => {
  test('get another secret, while the old one still signs', async () => {
    const { tenant, receiver, create, call } = await listener()
    const endpoint = await create()
    const { secret } = dataOf(z.object({ secret: z.string() }), await call('POST', `/${endpoint.id}/rotate-secret`))
    expect(secret).toMatch(/^whsec_/)
    for (const known of [secret, endpoint.secret]) {
      receiver.secrets.splice(0, 2, known)
      const [id] = await happen(tenant)
      await eventually(async () => toldOf(receiver, id).length > 0, 'the event')
    }
  })

  test('get another secret by two requests at once, and every secret of the day still signs', async () => {
    const { tenant, receiver, create, call } = await listener()
    const endpoint = await create()
    const answers = await Promise.all([1, 2].map(() => call('POST', `/${endpoint.id}/rotate-secret`)))
    const secrets = answers.map((answer) => dataOf(z.object({ secret: z.string() }), answer).secret)
    expect(new Set([endpoint.secret, ...secrets]).size).toBe(3)
    for (const known of [endpoint.secret, ...secrets]) {
      receiver.secrets.splice(0, 3, known)
      const [id] = await happen(tenant)
      await eventually(async () => toldOf(receiver, id).length > 0, 'the event')
    }
  })

  test('be created twice with one Idempotency-Key, and the repeat never shows a later secret', async () => {
    const { receiver, call } = await listener()
    const create = async () => {
      const answer = await call('POST', '', { url: receiver.url }, { 'idempotency-key': 'once' })
      return dataOf(z.object({ id: z.string(), secret: z.string().nullable() }), answer, 201)
    }
    const first = await create()
    expect(await create()).toEqual(first)
    await call('POST', `/${first.id}/rotate-secret`)
    expect(await create()).toEqual({ id: first.id, secret: null })
  })

  test('be tested, also while it is disabled', async () => {
    const { receiver, create, call, attempts } = await listener()
    const endpoint = await create({ enabled: false })
    const { delivery } = dataOf(z.object({ delivery: z.string() }), await call('POST', `/${endpoint.id}/test`), 202)
    await eventually(async () => receiver.taken.length > 0, 'the test')
    expect(receiver.taken).toMatchObject([{ id: delivery, events: [{ type: 'endpoint.test', id: endpoint.id }] }])
    const log = await eventually(
      async () => (await attempts(endpoint.id)).length > 0 && attempts(endpoint.id),
      'the log',
    )
    expect(log).toMatchObject([{ delivery, types: ['endpoint.test'] }])
  })

  test('receive again what happened within a time span, after a count', async () => {
    const { tenant, receiver, create, call } = await listener()
    const endpoint = await create()
    const since = new Date(Date.now() - 60_000).toISOString()
    const ids = await happen(tenant, 5)
    await eventually(async () => receiver.events().length >= 5, 'all events')
    expect((await call('POST', `/${endpoint.id}/replay`, { since, dry_run: true })).json).toMatchObject({
      data: { matched: 5, complete: true },
    })
    const types = ['message.sent', 'message.delivered']
    const asked = await call('POST', `/${endpoint.id}/replay`, { since, types })
    const { replay_id, status_url } = dataOf(z.object({ replay_id: z.string(), status_url: z.string() }), asked, 202)
    expect(status_url).toMatch(
      new RegExp(`^http://127.0.0.1:[0-9]+/event-endpoints/${endpoint.id}/replays/${replay_id}$`),
    )
    const replay = async () =>
      dataOf(
        z.object({ state: z.string(), delivered: z.number() }),
        await call('GET', `/${endpoint.id}/replays/${replay_id}`),
      )
    await eventually(async () => (await replay()).state === 'done', 'the replay')
    expect((await replay()).delivered).toBe(10)
    for (const id of ids) {
      // At least once: where a slow machine costs the relay its place, some are told again.
      const seqs = toldOf(receiver, id).map(({ seq }) => seq)
      expect([[...new Set(seqs)], seqs.at(-1)]).toEqual([[4, 3], 4])
    }
  })

  test('receive again what it missed, after all tries were used up', async () => {
    const { tenant, receiver, create, call } = await listener()
    const endpoint = await create()
    const since = new Date(Date.now() - 60_000).toISOString()
    receiver.behave = answerWith(500)
    const [id] = await happen(tenant)
    // Two retries after a second each, then one after ten minutes.
    await eventually(async () => receiver.all.length >= 3, 'three tries')
    receiver.behave = take
    const asked = { since, failed_only: true }
    const matched = async () =>
      dataOf(
        z.object({ matched: z.number() }),
        await call('POST', `/${endpoint.id}/replay`, { ...asked, dry_run: true }),
      ).matched
    // While it is being tried it is none that failed.
    await eventually(async () => (await matched()) === 1, 'the delivery that failed')
    await call('POST', `/${endpoint.id}/replay`, asked)
    await eventually(async () => toldOf(receiver, id).length > 0, 'the event')
  })

  test('be removed, after which nothing is sent to it, nor written if it was the last', async () => {
    const { tenant, receiver, create, call } = await listener()
    const endpoint = await create()
    expect((await call('DELETE', `/${endpoint.id}`)).status).toBe(200)
    expect((await call('GET', `/${endpoint.id}`)).status).toBe(404)
    await eventually(async () => listeningOf(service.redis, tenant.account).field('nobody_since'), 'nobody', 15_000)
    await listeningOf(service.redis, tenant.account).change({ nobody_since: 1 })
    await eventually(async () => !(await outboxOf(service.redis, tenant.partnerLane).isThere()), 'the end', 15_000)
    await happen(tenant)
    expect(await outboxOf(service.redis, tenant.partnerLane).isThere()).toBe(false)
    expect(receiver.all).toEqual([])
    expect(await namesWith(service.redis, endpoint.id)).toEqual([])
  })
})

test('a forbidden address is refused when an endpoint is created, and when it is changed', async () => {
  const { create, call } = await listener()
  const endpoint = await create()
  for (const url of [
    'http://10.0.0.1/x',
    'https://10.0.0.1/x',
    'https://169.254.169.254/latest',
    'https://[::1]/x',
    'https://[::ffff:10.0.0.1]/x',
    'https://2852039166/x',
    'http://8.8.8.8/x',
    'ftp://8.8.8.8/x',
    'https://user:secret@8.8.8.8/x',
    'nonsense',
    '',
  ]) {
    expect((await call('POST', '', { url })).status, url).toBe(400)
    expect((await call('PATCH', `/${endpoint.id}`, { url })).status, url).toBe(400)
  }
})

test('an endpoint receives what happened while no worker was running', async () => {
  const { tenant, receiver, create } = await listener()
  await service.stopWorker()
  await create()
  const [id] = await happen(tenant)
  await service.startWorker()
  await eventually(async () => toldOf(receiver, id).length > 0, 'the event')
})

test('an address that became private after it was created is not called', async () => {
  const { tenant, receiver, create, attempts } = await listener()
  const endpoint = await create()
  const record = endpointRecord(service.redis, tenant.account, endpoint.id)
  for (const url of ['http://10.255.255.1:9/x', 'https://[::1]:9/x']) {
    // A worker that has just started knows no other address.
    await service.stopWorker()
    await record.change({ url })
    await service.startWorker()
    await happen(tenant)
    await eventually(
      async () =>
        (await attempts(endpoint.id)).some(({ problem }) => problem === 'it leads to an address that is not allowed'),
      url,
    )
  }
  expect(receiver.all).toEqual([])
})

test('a repeated request with an Idempotency-Key makes one endpoint, and an account may have twenty', async () => {
  const { receiver, call } = await listener()
  const body = { url: receiver.url }
  const once = [1, 2].map(() => call('POST', '', body, { 'Idempotency-Key': 'one' }))
  const [first, again] = await Promise.all(once)
  expect([first?.status, first?.json]).toEqual([again?.status, again?.json])
  expect((await call('POST', '', { ...body, types: ['message.read'] }, { 'Idempotency-Key': 'one' })).status).toBe(422)
  for (let i = 1; i < 20; i += 1) expect((await call('POST', '', body)).status).toBe(201)
  expect((await call('POST', '', body)).json).toMatchObject({ error: { code: 'too_many_endpoints' } })
})

test('unknown fields, types, senders and limits are refused', async () => {
  const { receiver, call } = await listener()
  const wrong = [
    { typos: [] },
    { types: ['message.lost'] },
    { types: [] },
    { senders: ['nobody'] },
    { batch: { max_events: 101 } },
    { batch: { max_events: 0 } },
    { batch: { max_wait_ms: 60_001 } },
    { enabled: 'yes' },
  ]
  for (const fields of wrong) {
    expect((await call('POST', '', { url: receiver.url, ...fields })).status, JSON.stringify(fields)).toBe(400)
  }
})
