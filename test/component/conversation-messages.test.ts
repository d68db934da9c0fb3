// Pins: GET /conversations/{person}/messages shows what was sent to a person and what they wrote as one list, in the order of
// the times that WhatsApp tells, to those only who may read it. Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential } from '../../src/accounts/credentials.ts'
import { listRetainedSenders } from '../../src/accounts/senders.ts'
import { openFolder } from '../../src/files/folder.ts'
import { storeInbound } from '../../src/lanes/messages/inbound.ts'
import { findMessages } from '../../src/messages/lookup/find-messages.ts'
import { connectWithRetry, readyOrLate } from '../../src/redis/connect.ts'
import { errorOf } from '../support/api-error.ts'
import { reaches, sendTo } from '../support/messages.ts'
import { startRedisRelay } from '../support/redis-relay.ts'
import { PHONE_NUMBER_ID, type Service, startService, type Tenant } from '../support/service.ts'
import { receiveInbound } from '../support/simulator-wires.ts'
import { eventually } from '../support/wait.ts'

const HOUR = 3_600_000

let service: Service
let tenant: Tenant
beforeAll(async () => {
  service = await startService()
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
})
afterAll(() => service?.close())

const page = z.object({
  data: z.array(z.looseObject({ id: z.string(), direction: z.string(), text: z.string() })),
  next: z.string().nullable(),
})
const ask = (path: string, key = tenant.apiKey) => service.api.as(key).get(`/conversations/${path}`)
async function thread(person: string, query: Record<string, string> = {}, key?: string) {
  const { status, json } = await ask(`${person}/messages?${new URLSearchParams(query)}`, key)
  expect(status, JSON.stringify(json)).toBe(200)
  return page.parse(json)
}
const idsOf = ({ data }: z.infer<typeof page>) => data.map(({ id }) => id)

let count = 0
async function writes(from: string, at: number, { retentionMs = HOUR, ...more }: Record<string, unknown> = {}) {
  count += 1
  const message = { id: `wamid.thread${count}`, lane: tenant.cloudLane, from, type: 'text', text: `Text ${count}` }
  await storeInbound(service.redis, tenant.account, { ...message, received_at: at, ...more }, Number(retentionMs))
  return message.id
}

test("both directions are in one list, newest first by WhatsApp's times, whatever order they come in", async () => {
  const person = '491541000001'
  const before = Date.now()
  const first = await sendTo(service, tenant, `+${person}`)
  await reaches(service, tenant, first, 'read')
  // Written in between and told of last, and one that was written before all.
  const answer = await writes(person, Date.now())
  const second = await sendTo(service, tenant, `+${person}`)
  const late = await writes(person, before - 2 * HOUR)
  expect(idsOf(await thread(person))).toEqual([second, answer, first, late])
  // In any spelling, and of nobody else.
  await writes('491541000002', Date.now())
  expect(idsOf(await thread('+49 (1541) 000-001'))).toEqual([second, answer, first, late])
  expect(idsOf(await thread(person, { direction: 'inbound' }))).toEqual([answer, late])
  expect((await thread(person)).data[1]).toMatchObject({ direction: 'inbound', from: person, text: expect.any(String) })
})

test('what WhatsApp delivers is listed with all its parts', async () => {
  const text = JSON.stringify({ flow_token: 'order-77', day: 'Monday' })
  const body = { sender: `${PHONE_NUMBER_ID}1`, from: '+447700900151', type: 'flow_reply', text }
  const { id } = await receiveInbound(service.simulator.url, body)
  const { data } = await thread('447700900151')
  expect(data).toMatchObject([{ id, kind: 'interactive', flow: { token: 'order-77', response: { day: 'Monday' } } }])
})

test('a person without messages has an empty list, and expired messages are gone', async () => {
  expect(await thread('491541000003')).toEqual({ data: [], next: null })
  // On a slow machine it may be gone before it is looked for: then one is kept for longer.
  for (let retentionMs = 400, isSeen = false; !isSeen; retentionMs *= 4) {
    const begun = performance.now()
    const id = await writes('491541000004', Date.now(), { retentionMs })
    const found = idsOf(await thread('491541000004'))
    isSeen = performance.now() - begun < retentionMs || found.length > 0
    if (isSeen) expect(found).toEqual([id])
  }
  await eventually(async () => (await thread('491541000004')).data.length === 0, 'its time is over')
})

test('each message is on one page, also while new ones come in', async () => {
  const person = '491541000005'
  const ids: string[] = []
  for (let i = 0; i < 12; i += 1) ids.unshift(await writes(person, Date.now() - HOUR + i))
  const found: string[] = []
  for (let next: string | null | undefined; next !== null; ) {
    const part = await thread(person, { limit: '5', ...(next && { cursor: next }) })
    found.push(...idsOf(part))
    next = part.next
    await writes(person, Date.now())
  }
  expect(found).toEqual(ids)
  const { next } = await thread(person, { limit: '1' })
  expect(next).not.toBeNull()
  const other = await service.addTenant()
  const refused = await ask(`${person}/messages?cursor=${next}`, other.apiKey)
  expect([refused.status, errorOf(refused).code]).toEqual([400, 'invalid_request'])
})

test('all names of one person lead to one list', async () => {
  const [number, userId] = ['491541000006', 'DE.1541000006']
  const ids = [
    await writes(number, Date.now() - 3),
    await writes(userId, Date.now() - 2),
    await writes('DE.1', Date.now()),
  ]
  const senders = await listRetainedSenders(service.redis, tenant.account)
  const search = {
    senders,
    limit: 10,
    nowMs: Date.now(),
    lists: { ...service.config, files: openFolder('/nonexistent') },
  }
  const { messages } = await findMessages(service.redis, { ...search, filter: { names: [number, userId] } })
  expect(messages.map(({ id }) => id)).toEqual([ids[1], ids[0]])
})

test('a slow process finds all messages of a person, whatever was sent to others since', async () => {
  const person = '491541000019'
  const first = await writes(person, Date.now() - 10_000)
  const second = await writes(person, Date.now() - 9_000, { lane: tenant.partnerLane })
  await sendTo(service, tenant, '+491541000020')
  const relay = await startRedisRelay(service.server.port)
  const redis = connectWithRetry(relay.url)
  try {
    await readyOrLate(redis, 300_000)
    relay.delay(200)
    const search = {
      senders: await listRetainedSenders(service.redis, tenant.account),
      limit: 10,
      nowMs: Date.now(),
      lists: { ...service.config, files: openFolder('/nonexistent') },
    }
    const { messages, next } = await findMessages(redis, { ...search, filter: { names: [person] } })
    expect([messages.map(({ id }) => id), next]).toEqual([[second, first], undefined])
  } finally {
    redis.disconnect()
    await relay.close()
  }
})

test('another account gets nothing of it, and a key without the permission is refused', async () => {
  const person = '491541000007'
  await writes(person, Date.now())
  const other = await service.addTenant({ defaultProvider: 'cloud-api' })
  expect(await thread(person, {}, other.apiKey)).toEqual({ data: [], next: null })
  for (const permission of ['messages:send', 'contacts:read', 'events'] as const) {
    expect((await ask(`${person}/messages`, await tenant.key(permission))).status, permission).toBe(403)
  }
  expect((await ask(`${person}/messages`, 'lw_none')).status).toBe(401)
  expect((await ask('Ada/messages')).status).toBe(400)
  expect(errorOf(await ask(`${person}/messages?sender=${other.cloudNumber}`)).code).toBe('unknown_sender')
})

test('a key for some senders reads only conversations with those', async () => {
  const person = '491541000008'
  const ours = await writes(person, Date.now() - 2)
  const theirs = await writes(person, Date.now() - 1, { lane: tenant.partnerLane })
  expect(idsOf(await thread(person))).toEqual([theirs, ours])
  expect(idsOf(await thread(person, { sender: tenant.cloudNumber }))).toEqual([ours])
  const permissions = ['messages:read'] as const
  const bound = { senders: [tenant.cloudLane] }
  const { secret } = await createCredential(service.redis, tenant.account, permissions, Date.now(), 0, '', bound)
  expect(idsOf(await thread(person, {}, secret))).toEqual([ours])
  expect((await ask(`${person}/messages?sender=${tenant.partnerNumber}`, secret)).status).toBe(403)
})

test('after a person was erased there is nothing to show, of either direction', async () => {
  const person = '491541000009'
  const sent = await sendTo(service, tenant, `+${person}`)
  await reaches(service, tenant, sent, 'read')
  const received = await writes(person, Date.now())
  expect(idsOf(await thread(person))).toEqual([received, sent])
  const erased = await (await tenant.apiWith('admin')).delete(`/admin/people/${person}`)
  expect(erased.status).toBe(200)
  expect(await thread(person)).toEqual({ data: [], next: null })
})
