// Pins: GET /messages shows an account's messages, the newest first, by filter and in pages. Real: Redis, HTTP, producer,
// worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { messageId, newUlid, parseMessageId } from '../../src/kernel/message-id.ts'
import { storeInbound } from '../../src/lanes/messages/inbound.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { messages } from '../../src/producer/api/messages/routes.ts'
import { errorOf } from '../support/api-error.ts'
import { audioJob } from '../support/lane-redis.ts'
import { reaches, sendTo } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { loseJob } from '../support/state/lanes.ts'
import { messageIndexOf, messageRecord } from '../support/state/messages.ts'

let service: Service
let tenant: Tenant
let other: Tenant
let queues: LaneQueues
beforeAll(async () => {
  service = await startService()
  tenant = await service.addTenant()
  other = await service.addTenant()
  queues = openLaneQueues(service.redis)
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})

const ask = (query: Record<string, string>, api = tenant.api) => api.get(`/messages?${new URLSearchParams(query)}`)
const list = (query: Record<string, string> = {}, api = tenant.api) => api.call(messages.list, { query })
const idsOf = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id)
/** All pages of a list. */
async function all(query: Record<string, string>): Promise<string[]> {
  const ids: string[] = []
  for (let next: string | null | undefined; next !== null; ) {
    const part = await list({ ...query, ...(next && { cursor: next }) })
    ids.push(...idsOf(part))
    next = part.next
  }
  return ids
}

test('a message that is on its lane is accepted although the index cannot be written: a refusal would have it sent again', async () => {
  const hurt = await service.addTenant()
  // From then on index and job go to Redis together.
  const { lane = 0 } = parseMessageId(await sendTo(service, hurt, '+491700008101')) ?? {}
  await messageIndexOf(service.redis, lane).remove()
  await messageIndexOf(service.redis, lane).ruin('not a sorted set')
  await reaches(service, hurt, await sendTo(service, hurt, '+491700008102'), 'read')
})

describe('GET /messages', () => {
  test('shows messages, newest first, with all their fields except waits and history', async () => {
    const first = await sendTo(service, tenant, '+491700008001')
    const second = await sendTo(service, tenant, '+491700008002')
    await reaches(service, tenant, first, 'read')
    await reaches(service, tenant, second, 'read')
    const { data, next } = await list()
    expect(data.map(({ id }) => id)).toEqual([second, first])
    expect(next).toBeNull()
    expect(data[1]).toEqual({
      id: first,
      direction: 'outbound',
      state: 'read',
      possible_duplicate: false,
      class: 'transactional',
      kind: 'audio',
      sender: tenant.partnerNumber,
      to: '491700008001',
      text: 'https://example.com/hello.ogg',
      campaign_id: null,
      reference: null,
      campaign: null,
      provider_id: expect.any(String),
      accepted_at: expect.any(String),
      send_at: null,
      valid_until: expect.any(String),
      problem: null,
      pricing: null,
    })
  })

  test('shows a message that waits for its claim, and one that was cancelled', async () => {
    await queues.pause(tenant.partnerLane)
    const waiting = await sendTo(service, tenant, '+491700008011')
    const cancelled = await sendTo(service, tenant, '+491700008011')
    await tenant.api.post(`/messages/${cancelled}/cancel`)
    expect(idsOf(await list({ to: '+49 170 0008011' }))).toEqual([cancelled, waiting])
    expect(idsOf(await list({ to: '491700008011', state: 'queued' }))).toEqual([waiting])
    expect(idsOf(await list({ state: 'queued' }))).toEqual([waiting])
    expect(idsOf(await list({ state: 'cancelled' }))).toEqual([cancelled])
    await queues.resume(tenant.partnerLane)
    await reaches(service, tenant, waiting, 'read')
  })

  test('shows received messages, by sender and by direction', async () => {
    const at = Date.now()
    const message = { id: 'wamid.listed', lane: tenant.cloudLane, from: '491700008021', type: 'text', text: 'Hi' }
    await storeInbound(service.redis, tenant.account, { ...message, received_at: at }, 60_000)
    // As WhatsApp repeats it.
    await storeInbound(service.redis, tenant.account, { ...message, received_at: at }, 60_000)
    expect(idsOf(await list({ from: '+491700008021' }))).toEqual(['wamid.listed'])
    const inbound = await list({ direction: 'inbound' })
    expect(inbound.data).toMatchObject([{ id: 'wamid.listed', direction: 'inbound', text: 'Hi', from: '491700008021' }])
    expect(idsOf(await list({ direction: 'outbound' }))).not.toContain('wamid.listed')
    expect(idsOf(await list({ limit: '1' }))).toEqual(['wamid.listed'])
  })

  test('shows what was sent to a person and received from them together, and refuses a parameter that names nobody', async () => {
    const sent = await sendTo(service, tenant, '+491700008022')
    await reaches(service, tenant, sent, 'read')
    const message = { id: 'wamid.answer', lane: tenant.cloudLane, from: '491700008022', type: 'text', text: 'Thanks' }
    await storeInbound(service.redis, tenant.account, { ...message, received_at: Date.now() }, 60_000)
    expect(idsOf(await list({ with: '+49 170 0008022' }))).toEqual(['wamid.answer', sent])
    expect(idsOf(await list({ with: '+49 170 0008022', direction: 'outbound' }))).toEqual([sent])
    expect(idsOf(await list({ with: '+49 170 0008022', to: '491700008022' }))).toEqual([sent])
    expect(idsOf(await list({ with: '+49 170 0008022', to: '491700008011' }))).toEqual([])
    expect(await ask({ with: '123' })).toMatchObject({ status: 400, json: { error: { details: [{ path: 'with' }] } } })
  })

  test('shows each message once over all pages, also while new ones arrive', async () => {
    const ids = Array.from({ length: 25 }, () => messageId(tenant.cloudLane, newUlid(Date.now() - 5_000)))
    await queues.pause(tenant.cloudLane)
    await queues.addMany(ids.map((id) => ({ id, payload: { ...audioJob(), to: '491700008031' } })))
    const found: string[] = []
    for (let next: string | null | undefined; next !== null; ) {
      const part = await list({ to: '491700008031', limit: '4', ...(next && { cursor: next }) })
      found.push(...idsOf(part))
      next = part.next
      const late = messageId(tenant.cloudLane, newUlid(Date.now()))
      await queues.addMany([{ id: late, payload: { ...audioJob(), to: '491700008031' } }])
    }
    expect(found).toEqual(ids.sort().reverse())
  })

  test('skips an id whose message was never made, and shows a message once that was added twice', async () => {
    const [dead, twice] = [newUlid(Date.now()), newUlid(Date.now())].map((ulid) => messageId(tenant.cloudLane, ulid))
    const payload = { ...audioJob(), to: '491700008041' }
    await queues.addMany([{ id: dead ?? '', payload }])
    await loseJob(service.redis, dead ?? '')
    await queues.addMany([{ id: twice ?? '', payload }])
    await queues.addMany([{ id: twice ?? '', payload }])
    expect(idsOf(await list({ to: '491700008041' }))).toEqual([twice])
    // What repeats after a crash may come so much later that it stands in another part of the index.
    const old = newUlid(Date.now() - 7_200_000)
    for (let i = 0; i < 2; i += 1)
      await queues.addMany([{ id: messageId(tenant.cloudLane, old), payload: { ...payload, to: '491700008042' } }])
    expect(await all({ to: '491700008042', limit: '1' })).toEqual([messageId(tenant.cloudLane, old)])
  })

  test('skips messages older than the retention', async () => {
    const id = await sendTo(service, tenant, '+491700008051')
    await reaches(service, tenant, id, 'read')
    await messageRecord(service.redis, { lane: tenant.partnerLane, ulid: id.split('_')[2] ?? '' }).remove()
    expect((await list({ to: '491700008051' })).data).toEqual([])
  })

  test('shows nothing of another account, whose senders are treated as unknown', async () => {
    const id = await sendTo(service, other, '+491700008061')
    await reaches(service, other, id, 'read')
    expect((await list({ to: '491700008061' })).data).toEqual([])
    expect(idsOf(await list({ to: '491700008061' }, other.api))).toEqual([id])
    const [foreign, missing] = await Promise.all([ask({ sender: other.partnerNumber }), ask({ sender: '4915112345' })])
    expect(foreign.status).toBe(400)
    expect(errorOf(foreign).code).toBe('unknown_sender')
    expect(errorOf(missing).code).toBe('unknown_sender')
    expect((await list({ campaign: `cmp_${other.partnerLane}_1` })).data).toEqual([])
  })

  test('shows messages accepted between two times', async () => {
    const day = 86_400_000
    const at = [3, 2, 1].map((days) => Date.now() - days * day)
    const ids = at.map((ms) => messageId(tenant.cloudLane, newUlid(ms)))
    await queues.addMany(ids.map((id) => ({ id, payload: { ...audioJob(), to: '491700008071' } })))
    const iso = (i: number) => new Date(at[i] ?? 0).toISOString()
    const to = '491700008071'
    expect(await all({ to, since: iso(1) })).toEqual([ids[2], ids[1]])
    expect(await all({ to, until: iso(1) })).toEqual([ids[1], ids[0]])
    expect(await all({ to, since: iso(1), until: iso(1) })).toEqual([ids[1]])
  })

  test.each([
    ['a cursor that is none', { cursor: 'garbage' }, 'cursor'],
    ['an unknown filter', { colour: 'red' }, 'colour'],
    ['a state that there is not', { state: 'lost' }, 'state'],
    ['a limit over 1,000', { limit: '1001' }, 'limit'],
    ['a campaign that is no id', { campaign: 'spring' }, 'campaign'],
    ['a number that is none', { to: 'abc' }, 'to'],
    ['a time without a zone', { since: '2026-01-01' }, 'since'],
  ])('refuses %s', async (_what, query: Record<string, string>, path) => {
    const answer = await ask(query)
    expect(answer.status).toBe(400)
    expect(errorOf(answer).details.map((detail) => detail.path)).toEqual([path])
  })

  test('refuses the cursor of another account', async () => {
    const { next } = await list({ limit: '1' }, other.api)
    expect(next).not.toBeNull()
    expect((await ask({ cursor: next ?? '' })).status).toBe(400)
  })

  test('needs the permission to read', async () => {
    expect((await ask({}, await tenant.apiWith('messages:send'))).status).toBe(403)
  })
})
