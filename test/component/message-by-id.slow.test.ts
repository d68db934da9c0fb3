// Pins: one message is shown, cancelled and sent again by its id. Real: Redis, HTTP, producer, worker. Stood in for: the
// WhatsApp.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { messageId, newUlid, parseMessageId } from '../../src/kernel/message-id.ts'
import { cancelMessage } from '../../src/lanes/cancel-message.ts'
import { storeInbound } from '../../src/lanes/messages/inbound.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { messages } from '../../src/producer/api/messages/routes.ts'
import { errorOf } from '../support/api-error.ts'
import { claim } from '../support/claim.ts'
import { deliveryOf, reaches, sendTo } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { readLedger } from '../support/simulator-wires.ts'
import { accountRecord } from '../support/state/accounts.ts'
import { addSilently, hasJob } from '../support/state/lanes.ts'
import { messageRecord, requeueableOn } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const answered = z.object({ data: z.looseObject({ id: z.string(), state: z.string() }) })

let service: Service
let tenant: Tenant
let other: Tenant
let queues: LaneQueues
beforeAll(async () => {
  service = await startService()
  // Their provider reports by itself; the other wire would be polled.
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  other = await service.addTenant({ defaultProvider: 'cloud-api' })
  queues = openLaneQueues(service.redis)
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})

const show = async (id: string) => (await tenant.api.call(messages.show, { params: { id } })).data
const cancel = (id: string, api = tenant.api) => api.post(`/messages/${id}/cancel`)
const requeue = (id: string, api = tenant.api) => api.post(`/messages/${id}/requeue`)
const sentTo = async (to: string) => (await readLedger(service.simulator.url)).filter((line) => line.to === to).length

const soon = (ms: number): string => new Date(Date.now() + ms).toISOString()

/** The parts of an id that was acknowledged. */
function partsOf(id: string) {
  const parts = parseMessageId(id)
  if (!parts) throw new Error(`not an id: ${id}`)
  return parts
}

describe('GET /messages/{id}', () => {
  test('shows a delivered message with all its fields and its history', async () => {
    const id = await sendTo(service, tenant, '+491700006001')
    await reaches(service, tenant, id, 'read')
    const shown = await show(id)
    expect(shown).toMatchObject({
      id,
      direction: 'outbound',
      state: 'read',
      possible_duplicate: false,
      class: 'transactional',
      kind: 'audio',
      sender: tenant.cloudNumber,
      to: '491700006001',
      text: 'https://example.com/hello.ogg',
      campaign_id: null,
      campaign: null,
      send_at: null,
      problem: null,
      waits: null,
      provider_id: expect.any(String),
      accepted_at: expect.stringMatching(/^\d{4}-.*Z$/),
      valid_until: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    const history = z
      .array(z.strictObject({ at: z.string(), event: z.string(), attempt: z.string().nullable(), detail: z.null() }))
      .parse(shown.history)
    expect(history.slice(0, 3).map(({ event }) => event)).toEqual(['accepted', 'claimed', 'sent'])
    expect(history[1]?.attempt).toMatch(/^[0-9A-Z]{6}$/)
  })

  test('shows why a message waits', async () => {
    await queues.pause(tenant.cloudLane)
    const id = await sendTo(service, tenant, '+491700006002')
    expect(await show(id)).toMatchObject({ state: 'queued', waits: { why: 'lane_paused', until: null } })
    await queues.resume(tenant.cloudLane)
    await reaches(service, tenant, id, 'read')
  })

  test("shows a received message by WhatsApp's id", async () => {
    const message = { id: 'wamid.in', lane: tenant.cloudLane, from: '491700006003', type: 'text', text: 'Hi' }
    await storeInbound(service.redis, tenant.account, { ...message, received_at: 1_790_000_000_000 }, 60_000)
    const shown = await show('wamid.in')
    expect(shown).toMatchObject({ direction: 'inbound', from: '491700006003', text: 'Hi', kind: 'text' })
    expect(shown).not.toHaveProperty('to')
  })

  test("answers alike for another account's message and for one that does not exist", async () => {
    const id = await sendTo(service, other, '+491700006004')
    const missing = messageId(other.cloudLane, newUlid(Date.now()))
    for (const each of [() => tenant.api.get(`/messages/${id}`), () => cancel(id), () => requeue(id)]) {
      expect((await each()).status).toBe(404)
    }
    const sentence = async (name: string) => errorOf(await tenant.api.get(`/messages/${name}`)).message
    expect(await sentence(id)).toBe(await sentence(missing))
    await reaches(service, other, id, 'read')
  })
})

describe('POST /messages/{id}/cancel', () => {
  beforeEach(() => queues.resume(tenant.cloudLane))

  test('ends a message that waits for its first claim, so that it is never sent and has a record', async () => {
    await queues.pause(tenant.cloudLane)
    const id = await sendTo(service, tenant, '+491700006101')
    const neighbour = await sendTo(service, tenant, '+491700006102')
    const { status, json, text } = await cancel(id)
    expect(status, text).toBe(200)
    expect(answered.parse(json).data).toMatchObject({ id, state: 'cancelled', to: '491700006101', kind: 'audio' })
    expect(await hasJob(service.redis, id)).toBe(false)
    await queues.resume(tenant.cloudLane)
    await reaches(service, tenant, neighbour, 'read')
    expect(await sentTo('491700006101')).toBe(0)
    expect(await show(id)).toMatchObject({ state: 'cancelled', text: 'https://example.com/hello.ogg' })
    const { lane, ulid } = partsOf(id)
    const ttl = await messageRecord(service.redis, { lane, ulid }).livesMs()
    expect(ttl).toBeGreaterThan(service.config.retentionMs - 60_000)
    expect(await requeueableOn(service.redis, lane).timeOf(ulid)).not.toBeNull()
  })

  test('ends a delayed message in the same way', async () => {
    const { cloudLane: lane } = tenant
    const id = messageId(lane, newUlid(Date.now()))
    const content = { type: 'audio', audio: { link: 'https://example.com/a.ogg' } }
    const payload = { v: 1, to: '491700006103', class: 'transactional', content, until: Date.now() + 7_200_000 }
    await addSilently(service.redis, lane, id, payload, 3_600_000)
    expect((await cancel(id)).status).toBe(200)
    expect(await queues.counts(lane)).toMatchObject({ delayed: 0 })
    expect(await sentTo('491700006103')).toBe(0)
  })

  test.each(['cancel', 'requeue'])(
    'with a field that is unknown to %s is refused and changes nothing',
    async (verb) => {
      await queues.pause(tenant.cloudLane)
      const id = await sendTo(service, tenant, '+491700006199')
      const answer = await tenant.api.post(`/messages/${id}/${verb}`, { reason: 'typed wrong' })
      expect(answer.status).toBe(400)
      expect(answer.json).toMatchObject({ error: { details: [{ path: 'reason', message: 'unknown field' }] } })
      expect(await show(id)).toMatchObject({ state: 'queued' })
      expect((await cancel(id)).status).toBe(200)
    },
  )

  test('is refused with the state once the message was sent or is already cancelled', async () => {
    const id = await sendTo(service, tenant, '+491700006104')
    await reaches(service, tenant, id, 'read')
    const answer = await cancel(id)
    expect(answer.status).toBe(409)
    expect(errorOf(answer)).toMatchObject({ code: 'wrong_state', message: expect.stringContaining('read') })
    await queues.pause(tenant.cloudLane)
    const waiting = await sendTo(service, tenant, '+491700006105')
    expect((await cancel(waiting)).status).toBe(200)
    expect(errorOf(await cancel(waiting)).message).toContain('cancelled')
  })

  test('races claims of the same messages: what is cancelled is never sent, what is sent is never cancelled', async () => {
    const content = { type: 'audio' as const, audio: { link: 'https://example.com/a.ogg' } }
    const until = Date.now() + 60_000
    const ids = Array.from({ length: 200 }, () => ({ lane: 9_001, ulid: newUlid(Date.now()) }))
    const payload = { v: 1 as const, to: '491700006106', class: 'transactional' as const, content, until }
    await queues.addMany(ids.map(({ ulid }) => ({ id: messageId(9_001, ulid), payload })))
    const message = { to: payload.to, type: 'audio', text: 'x', class: 'transactional', validUntil: until } as const
    const times = { lostAfterMs: 60_000, evidenceWaitMs: 0, retentionMs: 60_000 }
    const claimed = (id: { lane: number; ulid: string }) =>
      claim(service.redis, id, 'AAAAAA', { ...message, campaign: undefined, run: undefined }, times)
    const ends = await Promise.all(
      ids.map(async (id, i) => {
        const both = [() => claimed(id), () => cancelMessage({ redis: service.redis, queues }, id, 60_000)]
        if (i % 2 === 0) both.reverse()
        const [first, second] = await Promise.all(both.map((each) => each()))
        return [first, second].filter((each) => each?.verdict === 'done').length
      }),
    )
    expect(ends).toEqual(ids.map(() => 1))
  })
})

describe('POST /messages/{id}/requeue', () => {
  test('sends a failed message once more, and is refused while it waits or after it was sent', async () => {
    const to = '15550100104'
    const id = await sendTo(service, tenant, `+${to}`)
    await reaches(service, tenant, id, 'failed')
    await queues.pause(tenant.cloudLane)
    const { status, json, text } = await requeue(id)
    expect(status, text).toBe(200)
    expect(answered.parse(json).data).toMatchObject({ id, state: 'queued', possible_duplicate: false, problem: null })
    const again = await requeue(id)
    expect(again.status).toBe(409)
    expect(errorOf(again)).toMatchObject({ code: 'wrong_state', message: expect.stringContaining('queued') })
    await queues.resume(tenant.cloudLane)
    await reaches(service, tenant, id, 'failed')
    expect(await sentTo(to)).toBe(0)
    const fresh = await sendTo(service, tenant, '+491700006201')
    await reaches(service, tenant, fresh, 'read')
    expect((await requeue(fresh)).status).toBe(409)
  })

  test('is refused for a message that waits for its first claim', async () => {
    await queues.pause(tenant.cloudLane)
    const id = await sendTo(service, tenant, '+491700006202')
    expect(errorOf(await requeue(id)).code).toBe('wrong_state')
    await queues.resume(tenant.cloudLane)
    await reaches(service, tenant, id, 'read')
  })

  test('sends a message that expired on a paused lane, whether it was ever claimed or was requeued', async () => {
    const failing = '15550100104'
    const failed = await sendTo(service, tenant, `+${failing}`)
    await reaches(service, tenant, failed, 'failed')
    await queues.pause(tenant.cloudLane)
    const fresh = await sendTo(service, tenant, '+491700006205', { valid_until: soon(5_000) })
    await requeue(failed)
    const again = partsOf(failed)
    await messageRecord(service.redis, again).change({ u: Date.now() - 1 })
    await eventually(async () => (await show(fresh)).state === 'expired', 'its validity is over')
    expect((await show(failed)).state).toBe('expired')
    for (const id of [fresh, failed]) {
      const { status, json, text } = await requeue(id)
      expect(status, text).toBe(200)
      expect(answered.parse(json).data).toMatchObject({ id, state: 'queued', possible_duplicate: false })
    }
    const history = z.array(z.object({ event: z.string() })).parse((await show(fresh)).history)
    expect(history.map(({ event }) => event)).toEqual(['accepted', 'expired', 'queued again'])
    await queues.resume(tenant.cloudLane)
    await reaches(service, tenant, fresh, 'read')
    await reaches(service, tenant, failed, 'failed')
    expect([await sentTo('491700006205'), await sentTo(failing)]).toEqual([1, 0])
  })

  test('sends a cancelled message after all', async () => {
    await queues.pause(tenant.cloudLane)
    const id = await sendTo(service, tenant, '+491700006203')
    await cancel(id)
    await queues.resume(tenant.cloudLane)
    expect((await requeue(id)).status).toBe(200)
    await reaches(service, tenant, id, 'read')
    expect(await sentTo('491700006203')).toBe(1)
  })

  test('flags a message that may have gone out', async () => {
    await accountRecord(service.redis, tenant.account).change({ 'policy.transactional': 'at_most_once' })
    const id = await sendTo(service, tenant, '+15550100307', { sender: tenant.partnerNumber })
    await reaches(service, tenant, id, 'unknown')
    expect(answered.parse((await requeue(id)).json).data).toMatchObject({ possible_duplicate: true })
    await reaches(service, tenant, id, 'unknown')
  })

  test('sends a message again that failed after it was sent, with its content', async () => {
    await fetch(`${service.simulator.url}/_control`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ match: { to: '491700006204' }, behaviour: 'media-failed', count: 1 }),
    })
    const id = await sendTo(service, tenant, '+491700006204')
    await reaches(service, tenant, id, 'failed')
    expect((await deliveryOf(service, tenant, id)).error_message).toBeTruthy()
    expect((await requeue(id)).status).toBe(200)
    await reaches(service, tenant, id, 'read')
    expect(await sentTo('491700006204')).toBe(2)
  })

  test('extends the life of the record to that of a new one', async () => {
    const id = await sendTo(service, tenant, '+15550100104')
    await reaches(service, tenant, id, 'failed')
    const { lane, ulid } = partsOf(id)
    await messageRecord(service.redis, { lane, ulid }).expireIn(60_000)
    expect((await requeue(id)).status).toBe(200)
    expect(await messageRecord(service.redis, { lane, ulid }).livesMs()).toBeGreaterThan(
      service.config.retentionMs - 60_000,
    )
    await reaches(service, tenant, id, 'failed')
  })
})
