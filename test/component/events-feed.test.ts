// Pins: what happens to messages, campaigns and senders is told in the feed, once and in its order, and to nobody else.
// Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eraseMessage } from '../../src/erase/erase-messages.ts'
import { openFolder } from '../../src/files/folder.ts'
import { messageId, newUlid } from '../../src/kernel/message-id.ts'
import { cancelStep } from '../../src/lanes/cancel-message.ts'
import { finalizeUnsent } from '../../src/lanes/messages/finalize-unsent.ts'
import { emitReceived, type NewInbound, storeInbound } from '../../src/lanes/messages/inbound.ts'
import { recordStatus, resolveUnconfirmed, setNotSent, setUnconfirmed } from '../../src/lanes/messages/steps.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { emitSenderBlocked, emitSenderRecovered } from '../../src/lanes/sender-notices.ts'
import { claim } from '../support/claim.ts'
import { audioMessage, LONG_TIMES } from '../support/lane-redis.ts'
import { reaches, sendTo } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { markPlace, messageRecord, outboxOf } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const page = z.object({
  status: z.literal(true),
  data: z.array(
    z.object({
      type: z.string(),
      timestamp: z.string(),
      data: z.looseObject({ id: z.string().optional(), seq: z.number().optional(), event_id: z.string() }),
    }),
  ),
  next: z.string(),
})

let service: Service
let tenant: Tenant
let other: Tenant
let key: string
beforeAll(async () => {
  service = await startService()
  tenant = await service.addTenant()
  other = await service.addTenant()
  key = await tenant.key('events')
})
afterAll(() => service?.close())

const get = (path: string, bearer = key) => service.api.as(bearer).get(path)
async function pull(query = '', bearer = key) {
  const { status, text, json } = await get(`/events${query}`, bearer)
  expect(status, text).toBe(200)
  return page.parse(json)
}
const newId = (lane = tenant.partnerLane) => ({ lane, ulid: newUlid(Date.now()) })
const PROBLEM = { code: 'a|b', sentence: 'Call 4917612345678 about it.\nNow.' }
const message = () => ({ ...audioMessage, validUntil: Date.now() + 3_600_000 })

/** All events of a message that the feed has from here on. */
async function eventsOf(id: { lane: number; ulid: string }, more = '') {
  const { data } = await pull(`?limit=1000${more}`)
  return data.filter((event) => event.data.id === messageId(id.lane, id.ulid))
}

test('nothing is written while nobody listens, and every change is from the first pull on', async () => {
  const before = await sendTo(service, tenant, '+491700008001')
  await reaches(service, tenant, before, 'read')
  expect(await outboxOf(service.redis, tenant.partnerLane).isThere()).toBe(false)
  const first = await pull()
  expect(first.data).toEqual([])
  const id = await sendTo(service, tenant, '+491700008002')
  await reaches(service, tenant, id, 'read')
  const { data, next } = await pull(`?after=${first.next}`)
  // A delivery and its reading may be reported together.
  const states = data.map(({ data }) => String(data.state))
  expect(['sent delivered read', 'sent read']).toContain(states.join(' '))
  expect(data.map(({ type, data }) => [type, data.id, data.seq])).toEqual(
    states.map((state, i) => [`message.${state}`, id, i + 3]),
  )
  expect(data[0]?.data).toEqual({
    event_id: expect.stringMatching(/^evt_\d+_\d+_\d+_\d+$/),
    id,
    seq: 3,
    state: 'sent',
    possible_duplicate: false,
    class: 'transactional',
    kind: 'audio',
    sender: tenant.partnerNumber,
    campaign_id: null,
    reference: null,
    campaign: null,
    provider_id: null,
    accepted_at: expect.stringMatching(/Z$/),
    problem: null,
    pricing: null,
  })
  // What happened before the cursor is not told again, and the cursor stays good while nothing happens.
  expect((await pull(`?after=${next}`)).data).toEqual([])
  // Each event is the entry of the history that its seq counts.
  const shown = z
    .object({ data: z.object({ history: z.array(z.object({ at: z.string(), event: z.string() })) }) })
    .parse((await get(`/messages/${id}`, tenant.apiKey)).json)
  for (const { timestamp, data: told } of data) {
    expect(shown.data.history[(told.seq ?? 0) - 1]).toMatchObject({ at: timestamp, event: told.state })
  }
})

test('pages of one event each have the same events as one page of all', async () => {
  const all = await pull('?limit=1000')
  const one: string[] = []
  for (let after = ''; one.length < all.data.length; ) {
    const { data, next } = await pull(`?limit=1${after && `&after=${after}`}`)
    expect(data).toHaveLength(1)
    one.push(...data.map((event) => event.data.event_id))
    after = next
  }
  expect(one.sort()).toEqual(all.data.map((event) => event.data.event_id).sort())
})

test('each step that ends or changes a message writes an event with its problem, and a repeated step writes none', async () => {
  const [failed, unsure, cancelled, expired] = [newId(), newId(), newId(), newId()]
  await claim(service.redis, failed, 'AAAAAA', message(), LONG_TIMES)
  for (let i = 0; i < 2; i += 1) {
    await setNotSent(service.redis, failed, 'AAAAAA', { counts: true, maxTries: 1, problem: PROBLEM })
  }
  await claim(service.redis, unsure, 'BBBBBB', message(), LONG_TIMES)
  await setUnconfirmed(service.redis, unsure, 'BBBBBB', { problem: PROBLEM, evidenceMs: 0 })
  await resolveUnconfirmed(service.redis, unsure, 'BBBBBB', 'never', 1)
  await recordStatus(service.redis, unsure, 'BBBBBB', 'sent')
  await claim(service.redis, cancelled, 'CCCCCC', message(), LONG_TIMES)
  await setNotSent(service.redis, cancelled, 'CCCCCC', { counts: false, maxTries: 9, problem: PROBLEM })
  await cancelStep(service.redis, cancelled, 3_600_000)
  await claim(service.redis, expired, 'DDDDDD', { ...message(), validUntil: Date.now() - 1 }, LONG_TIMES)

  const told = async (id: { lane: number; ulid: string }) =>
    (await eventsOf(id)).map(({ type, data }) => [
      type,
      data.seq,
      z.object({ code: z.string() }).safeParse(data.problem).data?.code,
    ])
  expect(await told(failed)).toEqual([['message.failed', 3, 'a/b']])
  expect(await told(unsure)).toEqual([
    ['message.unconfirmed', 3, 'a/b'],
    ['message.unknown', 4, 'a/b'],
    ['message.sent', 5, undefined],
  ])
  // That it waits again is no event, but counts.
  expect(await told(cancelled)).toEqual([['message.cancelled', 4, undefined]])
  expect(await told(expired)).toEqual([['message.expired', 2, undefined]])
})

test('a pull for deliveries alone gets a reading that comes first as a delivery, once', async () => {
  const [atOnce, later] = [newId(), newId()]
  for (const id of [atOnce, later]) {
    await claim(service.redis, id, 'EEEEEE', message(), LONG_TIMES)
    await recordStatus(service.redis, id, 'EEEEEE', 'sent')
  }
  await recordStatus(service.redis, later, 'EEEEEE', 'delivered')
  for (const id of [atOnce, later]) await recordStatus(service.redis, id, 'EEEEEE', 'read')
  const told = async (id: { lane: number; ulid: string }, types: string) =>
    (await eventsOf(id, `&types=${types}`)).map(({ type, data }) => [type, data.seq, data.state])
  expect(await told(atOnce, 'message.delivered')).toEqual([['message.delivered', 4, 'read']])
  expect(await told(later, 'message.delivered')).toEqual([['message.delivered', 4, 'delivered']])
  expect(await told(atOnce, 'message.delivered,message.read')).toEqual([['message.read', 4, 'read']])
  expect(await told(atOnce, 'message.sent')).toEqual([['message.sent', 3, 'sent']])
})

test('a message held by two attempts is reported as unconfirmed, and one repeated in doubt is never reported as failed', async () => {
  const id = newId()
  await claim(service.redis, id, 'AAAAAA', message(), LONG_TIMES)
  await claim(service.redis, id, 'BBBBBB', message(), LONG_TIMES)
  await resolveUnconfirmed(service.redis, id, 'AAAAAA', 'once', 3)
  await claim(service.redis, id, 'CCCCCC', message(), LONG_TIMES)
  await setNotSent(service.redis, id, 'CCCCCC', { counts: true, maxTries: 1, problem: PROBLEM })
  expect((await eventsOf(id)).map(({ type, data }) => [type, data.seq, data.possible_duplicate])).toEqual([
    ['message.unconfirmed', 3, false],
    ['message.unknown', 6, true],
  ])
})

test('the event of a message whose record was lost has a higher seq than its earlier ones', async () => {
  const id = newId()
  const run = { ...message(), class: 'campaign' as const }
  await claim(service.redis, id, 'AAAAAA', run, LONG_TIMES)
  await messageRecord(service.redis, id).remove()
  const content = { type: 'audio', audio: { link: 'https://example.com/a.mp3' } } as const
  const payload = { v: 1, to: run.to, class: 'campaign', content, until: run.validUntil, run: 4_711 } as const
  // The campaign knows that it was claimed.
  const place = [...id.ulid.slice(10, 15)].reduce(
    (sum, c) => sum * 32 + '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(c),
    0,
  )
  await markPlace(service.redis, { lane: id.lane, number: 4_711 }, place, 2)
  expect(await finalizeUnsent(service.redis, id, 'gone', payload, 3_600_000)).toBe(true)
  const [event] = await eventsOf(id)
  expect(event).toMatchObject({ type: 'message.unknown', data: { problem: { code: 'record_lost' } } })
  expect(event?.data.seq).toBeGreaterThan(1_000)
})

test('number, text and WhatsApp’s id are only in events for those who ask for content', async () => {
  const id = await sendTo(service, tenant, '+491700008003')
  // It may be read before anybody sees that it was sent.
  await reaches(service, tenant, id, 'read')
  const [thin] = (await pull('?limit=1000')).data.filter((event) => event.data.id === id)
  expect(JSON.stringify(thin)).not.toContain('491700008003')
  expect(thin?.data).not.toHaveProperty('text')
  const [whole] = (await pull('?limit=1000&include_content=true')).data.filter((event) => event.data.id === id)
  expect(whole?.data).toMatchObject({
    to: '491700008003',
    text: 'https://example.com/hello.ogg',
    provider_id: expect.any(String),
  })
  const failed = newId()
  await claim(service.redis, failed, 'AAAAAA', message(), LONG_TIMES)
  await setNotSent(service.redis, failed, 'AAAAAA', { counts: true, maxTries: 1, problem: PROBLEM })
  expect((await eventsOf(failed))[0]?.data.problem).toEqual({ code: 'a/b', sentence: 'Call … about it. Now.' })
})

test('the sentence of a failure is in no event once its person is erased', async () => {
  const failed = newId()
  await claim(service.redis, failed, 'AAAAAA', message(), LONG_TIMES)
  await setNotSent(service.redis, failed, 'AAAAAA', { counts: true, maxTries: 1, problem: PROBLEM })
  const queues = openLaneQueues(service.redis)
  const files = openFolder(mkdtempSync(join(tmpdir(), 'laneway-feed-')))
  const config = { retentionMs: 3_600_000, validityMs: { campaign: 3_600_000 } }
  const verdict = await eraseMessage({ redis: service.redis, queues, files, config }, failed, audioMessage.to)
  await queues.close()
  expect(verdict).toBe('erased')
  const [told] = await eventsOf(failed, '&include_content=true')
  expect(told?.data).toMatchObject({ state: 'failed', problem: { code: 'a/b', sentence: '' } })
})

/** WhatsApp reports it, as a webhook does. */
async function receive(message: NewInbound): Promise<void> {
  const { redis } = service
  if ((await storeInbound(redis, tenant.account, message, 3_600_000)) === undefined) return
  await emitReceived(redis, tenant.account, message)
}

test('a received message makes one event, however often WhatsApp reports it', async () => {
  const received = {
    id: 'wamid.events.1',
    lane: tenant.cloudLane,
    from: '491700008004',
    type: 'text',
    text: 'hello',
    received_at: Date.now(),
  }
  for (let i = 0; i < 3; i += 1) await receive(received)
  const told = (await pull('?types=message.received&include_content=true')).data
  expect(told).toEqual([
    {
      type: 'message.received',
      timestamp: new Date(received.received_at).toISOString(),
      data: {
        event_id: expect.any(String),
        id: 'wamid.events.1',
        seq: 1,
        kind: 'text',
        sender: tenant.cloudNumber,
        received_at: new Date(received.received_at).toISOString(),
        from: '491700008004',
        text: 'hello',
      },
    },
  ])
  // The id of WhatsApp has the number in it, and outlives the message in what is still to be told.
  const outbox = JSON.stringify(await outboxOf(service.redis, tenant.cloudLane).all())
  expect(outbox).toContain('received')
  expect(outbox).not.toContain('wamid')
})

test('the answers to a flow are in the event, and absent for those who asked for no content', async () => {
  const flow = { name: 'flow', token: 'order-77', response: { day: 'Monday', times: ['8', '9'] } }
  const received = { id: 'wamid.events.flow', lane: tenant.cloudLane, from: '491700008006', type: 'interactive' }
  const stored = { ...received, text: 'Sent', received_at: Date.now(), parts: { flow } }
  await receive(stored)
  const flowIn = async (query: string) => {
    const { data } = await pull(`?types=message.received${query}`)
    return data.find((event) => event.data.id === received.id)?.data.flow
  }
  expect(await flowIn('&include_content=true')).toEqual(flow)
  expect(await flowIn('')).toBeUndefined()
})

test('a received message reported several times at the same moment is one event, under one id', async () => {
  const received = { id: 'wamid.events.2', lane: tenant.cloudLane, from: '491700008005', type: 'text', text: 'hi' }
  await Promise.all(Array.from({ length: 4 }, () => receive({ ...received, received_at: Date.now() })))
  const { data } = await pull('?types=message.received')
  const ids = data.flatMap((event) => (event.data.id === received.id ? [event.data.event_id] : []))
  expect(ids.length).toBeGreaterThan(0)
  expect(new Set(ids).size).toBe(1)
})

test('a blocked sender makes one event until it recovers, and resuming one that is not blocked makes none', async () => {
  const lane = tenant.partnerLane
  await emitSenderRecovered(service.redis, lane)
  await Promise.all([1, 2, 3].map(() => emitSenderBlocked(service.redis, lane, 'the token is wrong')))
  await emitSenderRecovered(service.redis, lane)
  await emitSenderRecovered(service.redis, lane)
  const { data } = await pull('?types=sender.blocked,sender.recovered')
  expect(data.map(({ type, data }) => [type, data.sender, data.reason])).toEqual([
    ['sender.blocked', tenant.partnerNumber, 'the token is wrong'],
    ['sender.recovered', tenant.partnerNumber, null],
  ])
})

test('a sender that is added later makes events, and another account gets none of them', async () => {
  const third = await service.addTenant()
  const thirdKey = await third.key('events')
  await pull('', thirdKey)
  await outboxOf(service.redis, third.cloudLane).remove()
  await eventually(async () => await outboxOf(service.redis, third.cloudLane).isThere(), 'the outbox', 15_000)
  const id = { lane: third.cloudLane, ulid: newUlid(Date.now()) }
  await claim(service.redis, id, 'AAAAAA', { ...message(), validUntil: 1 }, LONG_TIMES)
  expect((await pull('', thirdKey)).data.map((event) => event.data.id)).toEqual([messageId(id.lane, id.ulid)])
  expect((await eventsOf(id)).length).toBe(0)
})

test('an invalid cursor, an unknown type and a key without the permission are refused', async () => {
  expect((await get('/events?after=abc')).status).toBe(400)
  // A number of zeros without an end, which is too large to be one.
  const zeros = Buffer.from([1, tenant.cloudLane, ...new Array<number>(150).fill(128), 0, 0, 0]).toString('base64url')
  expect((await get(`/events?after=${zeros}`)).status).toBe(400)
  expect((await get('/events?types=message.lost')).status).toBe(400)
  expect((await get('/events?limit=0')).status).toBe(400)
  expect((await get('/events', await other.key('messages:read'))).status).toBe(403)
  expect((await get('/events', 'nonsense')).status).toBe(401)
})
