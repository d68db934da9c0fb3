// Pins: a message with send_at waits until then and says so, is cancelled and paused as any other, survives a restart; and
// a person without a number is written to by user id. Real: Redis, HTTP, producer, worker, simulator.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { messages } from '../../src/producer/api/messages/routes.ts'
import { errorOf } from '../support/api-error.ts'
import { acknowledgedId, audioTo, deliveryOf, reaches } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { readLedger } from '../support/simulator-wires.ts'
import { eventually } from '../support/wait.ts'

const SERVICE = '/sendservicemessages/sendmessages'
const DAY = 86_400_000
const USER = 'US.13491208655302741918'

let service: Service
let tenant: Tenant
let cloud: Tenant
beforeAll(async () => {
  service = await startService()
  tenant = await service.addTenant()
  cloud = await service.addTenant({ defaultProvider: 'cloud-api' })
})
afterAll(() => service?.close())

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()
const send = (more: object, { apiKey }: Tenant = tenant) =>
  service.post(SERVICE, { ...audioTo('+491700000001', { ...more }), api_key: apiKey })

const shown = async (id: string) => (await tenant.api.call(messages.show, { params: { id } })).data

/**
 * Sends a message that is to leave in so many ms, and shows it before, once `act` is done. Where the machine is too slow
 * for that it sends another one that has more time.
 */
async function shownBeforeItsTime(ms: number, act: () => Promise<unknown> = async () => {}) {
  for (let aheadMs = ms; ; aheadMs *= 4) {
    const send_at = inMs(aheadMs)
    const isTooLate = () => Date.now() >= Date.parse(send_at)
    const answer = await send({ send_at })
    if (answer.status !== 200 && isTooLate()) continue
    const id = acknowledgedId(answer)
    await act()
    const waiting = await shown(id)
    if (!isTooLate()) return { id, send_at, waiting }
  }
}

describe('a message with send_at', () => {
  test('waits until then, also across a restart of the worker, and shows its time before and after', async () => {
    const { id, send_at, waiting } = await shownBeforeItsTime(3_000)
    expect(waiting).toMatchObject({ state: 'queued', send_at, waits: { why: 'send_at', until: send_at } })
    expect(Date.parse(waiting.valid_until ?? '')).toBe(Date.parse(send_at) + DAY)
    await service.stopWorker()
    await service.startWorker()
    await reaches(service, tenant, id, 'read', 15_000)
    const entry = (await readLedger(service.simulator.url)).find(({ opaque }) => opaque === id)
    expect(entry?.at_ms).toBeGreaterThanOrEqual(Date.parse(send_at))
    expect(await shown(id)).toMatchObject({ send_at, waits: null })
  })

  test('is cancelled like any other, and keeps its time', async () => {
    const send_at = inMs(DAY)
    const id = acknowledgedId(await send({ send_at }))
    expect((await tenant.api.post(`/messages/${id}/cancel`)).status).toBe(200)
    expect(await deliveryOf(service, tenant, id)).toMatchObject({ status: 'cancelled' })
    expect(await shown(id)).toMatchObject({ state: 'cancelled', send_at, waits: null })
  })

  test('also waits for its lane when that is paused at its time, and leaves once it is resumed', async () => {
    const { partnerLane: lane } = tenant
    const admin = await tenant.apiWith('admin')
    expect((await admin.post(`/admin/lanes/${lane}/pause`)).status).toBe(200)
    const { id, send_at, waiting } = await shownBeforeItsTime(1_500)
    expect(waiting).toMatchObject({ state: 'queued', send_at, waits: { why: 'send_at' } })
    const late = async () => {
      const now = await shown(id)
      return now.waits?.why === 'lane_paused' && now
    }
    expect(await eventually(late, 'its time has come')).toMatchObject({ state: 'queued', send_at })
    const taken = async () => (await readLedger(service.simulator.url)).filter(({ opaque }) => opaque === id).length
    expect(await taken()).toBe(0)
    expect((await admin.post(`/admin/lanes/${lane}/resume`)).status).toBe(200)
    await reaches(service, tenant, id, 'read', 15_000)
    expect(await taken()).toBe(1)
  })

  test('does not leave early when its lane was paused and resumed meanwhile', async () => {
    const { partnerLane: lane } = tenant
    const admin = await tenant.apiWith('admin')
    const { id, send_at, waiting } = await shownBeforeItsTime(2_500, async () => {
      for (const act of ['pause', 'resume']) await admin.post(`/admin/lanes/${lane}/${act}`)
    })
    expect(waiting).toMatchObject({ state: 'queued', waits: { why: 'send_at', until: send_at } })
    await reaches(service, tenant, id, 'read', 15_000)
    const entry = (await readLedger(service.simulator.url)).find(({ opaque }) => opaque === id)
    expect(entry?.at_ms).toBeGreaterThanOrEqual(Date.parse(send_at))
  })

  test('is valid from its time on when it is requeued, not from now', async () => {
    const send_at = inMs(3 * DAY)
    const id = acknowledgedId(await send({ send_at }))
    for (const act of ['cancel', 'requeue']) {
      expect((await tenant.api.post(`/messages/${id}/${act}`)).status, act).toBe(200)
    }
    const again = await shown(id)
    expect(again).toMatchObject({ state: 'queued', send_at, waits: { why: 'send_at', until: send_at } })
    expect(Date.parse(again.valid_until ?? '')).toBe(Date.parse(send_at) + DAY)
  })

  test('may be in a batch with one that leaves at once', async () => {
    const { api_key: _, ...now } = audioTo('+491700000002')
    const batch = [now, { ...now, send_at: inMs(DAY) }, { ...now, send_at: inMs(-1_000) }]
    const { json } = await tenant.api.post('/messages/batch', { messages: batch })
    const { results } = z.object({ results: z.array(z.looseObject({ id: z.string().optional() })) }).parse(json)
    await reaches(service, tenant, results[0]?.id ?? '', 'read')
    expect(await deliveryOf(service, tenant, results[1]?.id ?? '')).toMatchObject({ status: 'queued' })
    expect(results[2]).toMatchObject({ error: { details: [{ path: 'send_at', message: 'must be in the future' }] } })
  })

  test.each<[string, () => object, object]>([
    ['in the past', () => ({ send_at: inMs(-1_000) }), { path: 'send_at', message: 'must be in the future' }],
    ['too far ahead', () => ({ send_at: inMs(30.1 * DAY) }), { path: 'send_at', message: 'at most 30 days ahead' }],
    [
      'after its validity',
      () => ({ send_at: inMs(DAY), valid_until: inMs(DAY / 2) }),
      { path: 'valid_until', message: 'must be after send_at' },
    ],
  ])('is refused when it is %s', async (_name, more, detail) => {
    const answer = await send(more())
    expect(answer.status).toBe(400)
    expect(errorOf({ json: answer.body })).toMatchObject({ code: 'invalid_request', details: [detail] })
  })
})

describe('a person without a number', () => {
  test('is written to and found by user id on cloud-api', async () => {
    const answer = await send({ to: USER }, cloud)
    expect(answer.body).toMatchObject({ contacts: [{ input: USER, wa_id: USER }] })
    const id = acknowledgedId(answer)
    await reaches(service, cloud, id, 'read')
    const ledger = await readLedger(service.simulator.url)
    expect(ledger.filter(({ to }) => to === USER)).toHaveLength(1)
    expect((await cloud.api.get(`/messages?to=${USER}`)).json).toMatchObject({ data: [{ id, to: USER }] })
  })

  test('cannot be written to on partner-api', async () => {
    const answer = await send({ to: USER })
    expect(answer.status).toBe(400)
    expect(errorOf({ json: answer.body })).toMatchObject({
      code: 'not_supported_by_provider',
      details: [{ path: 'to', message: 'expected a phone number: this sender’s provider takes no user ids' }],
    })
  })

  test.each(['us.1', 'US.', 'USA.1', 'US.1-2', `US.${'1'.repeat(129)}`])('has no user id like %s', async (to) => {
    const answer = await send({ to }, cloud)
    expect(errorOf({ json: answer.body })).toMatchObject({ code: 'invalid_request', details: [{ path: 'to' }] })
  })
})
