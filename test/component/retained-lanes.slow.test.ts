// Pins: what is kept of a removed sender is shown, listed, told and forgotten like any other, until the last of it has
// ended; then nothing is left of it. A process that dies while it removes a sender leaves one that can be removed again. Real:
// Redis, HTTP, producer, relay, an endpoint. Stood in for: the passing of weeks, by a later time.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { lanesRetainedUntil, retainedLanes, retainLaneUntil } from '../../src/accounts/retained-lanes.ts'
import { findSender, listRetainedSenders, listSenders } from '../../src/accounts/senders.ts'
import { forgetLanes } from '../../src/admin/expiry.processor.ts'
import { dropSender } from '../../src/admin/senders.ts'
import { erasePerson } from '../../src/erase/erase.ts'
import { newErasureId } from '../../src/erase/erasures.ts'
import { startRelay } from '../../src/events/relay.processor.ts'
import { readCursors } from '../../src/events/store/endpoint-cursors.ts'
import { createEndpoint, listEndpoints, newEndpointId } from '../../src/events/store/endpoints.ts'
import { openFolder } from '../../src/files/folder.ts'
import { messageId, newUlid, parseMessageId } from '../../src/kernel/message-id.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { findInbound, storeInbound } from '../../src/lanes/messages/inbound.ts'
import { recordStatus } from '../../src/lanes/messages/steps.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { trimRequeueable } from '../../src/messages/requeue/requeueable.ts'
import { newEndpointFields } from '../../src/model/events/endpoint.ts'
import { createCampaign, findCampaign, moveCampaign } from '../../src/recipients/campaigns.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { silentLog } from '../support/app.ts'
import { startReceiver } from '../support/event-receiver.ts'
import { fillLane } from '../support/filled-lane.ts'
import { dyingAfter } from '../support/redis.ts'
import { failMessages } from '../support/requeueable.ts'
import { sentMessages } from '../support/sent-messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { accountRecord, sendersLock, trimmedLately } from '../support/state/accounts.ts'
import { allOfLane } from '../support/state/everything.ts'
import { addDeadLetter, namesInQueue } from '../support/state/lanes.ts'
import { letLaneExpire, messageRecord, outboxOf, requeueableOn } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const setTimeoutOf = globalThis.setTimeout
const DAY_MS = 86_400_000
const RETENTION_MS = 30 * DAY_MS

let service: Service
let redis: Redis
let queues: LaneQueues
beforeAll(async () => {
  service = await startService({ worker: false, env: { LANEWAY_EVENTS_ALLOW_PRIVATE: '127.0.0.0/8' } })
  redis = service.redis
  queues = openLaneQueues(redis)
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})

const remove = (lane: number) => dropSender({ redis, queues }, lane, RETENTION_MS)
const files = () => openFolder(service.config.dataDir)

async function get(path: string, key: string) {
  const answer = await service.api.as(key).get(path)
  expect(answer.status).toBe(200)
  return z.looseObject({ data: z.any() }).parse(answer.json)
}

/** What stands on the lane that names the text, or of everything when there is none. */
async function placesOf(lane: number, text = ''): Promise<string[]> {
  const all = Object.entries(await allOfLane(redis, lane))
  return all.flatMap(([key, value]) => ((key + value).includes(text) ? [key] : []))
}

async function listeningTo(tenant: Tenant) {
  const receiver = await startReceiver()
  const fields = newEndpointFields.parse({ url: receiver.url, types: ['message.sent', 'message.delivered'] })
  const seal = createSeal(secretKeysOf(service.config))
  await createEndpoint(redis, tenant.account, fields, { seal, nowMs: Date.now(), id: newEndpointId() })
  return receiver
}

test('a person whose messages were sent by a removed sender can still be shown, listed and erased', async () => {
  const tenant = await service.addTenant()
  const lane = tenant.cloudLane
  const phone = '491520771001'
  const [ulid = ''] = await fillLane(redis, lane, { total: 1_000, every: 1_000, phone })
  const received = {
    id: 'wamid.removed',
    lane,
    from: phone,
    type: 'text',
    text: 'Canary wrote',
    received_at: Date.now(),
  }
  await storeInbound(redis, tenant.account, received, RETENTION_MS)
  await remove(lane)

  const admin = await tenant.key('admin')
  const { data: person } = await get(`/admin/people/${phone}`, admin)
  expect(person.messages.map(({ text }: { text: string }) => text)).toEqual(['Canary', 'Canary wrote'])
  const ofSender = `sender=${tenant.cloudNumber}`
  for (const query of [`to=${phone}`, `to=${phone}&${ofSender}`]) {
    const { data } = await get(`/messages?${query}`, tenant.apiKey)
    expect(data).toMatchObject([{ id: messageId(lane, ulid), sender: tenant.cloudNumber }])
  }

  const of = { id: newErasureId(Date.now()), account: tenant.account, person: phone, nowMs: Date.now() + 120_000 }
  const deps = { redis, queues, files: files(), config: service.config, log: silentLog }
  expect(await erasePerson(deps, of)).toBe(true)
  const { data: message } = await get(`/messages/${messageId(lane, ulid)}`, tenant.apiKey)
  expect(message).toMatchObject({ state: 'read', to: '', text: '' })
  expect(await placesOf(lane, phone)).toEqual([])
  expect((await get(`/admin/people/${phone}`, admin)).data.messages).toEqual([])
})

test('an endpoint receives missing events of a removed sender, from a relay that starts after the removal', async () => {
  const tenant = await service.addTenant()
  const receiver = await listeningTo(tenant)
  const [name] = await sentMessages(redis, tenant.partnerLane, 1, false)
  await remove(tenant.partnerLane)
  const key = await tenant.key('events')
  const pulled = await get('/events', key)
  expect(pulled.data).toMatchObject([{ type: 'message.sent', data: { id: name, sender: tenant.partnerNumber } }])
  const seal = createSeal(secretKeysOf(service.config))
  const relay = startRelay({ redis, config: service.config, log: silentLog, seal, worker: 'a relay' })
  await eventually(async () => receiver.taken.length > 0 || undefined, 'the endpoint is told')
  expect(receiver.events()).toMatchObject([{ id: name, data: { sender: tenant.partnerNumber } }])
  await relay.stop(1_000)
  await receiver.close()
})

test('a message of a removed sender that ended badly leaves the list when its record is gone', async () => {
  const tenant = await service.addTenant()
  const lane = tenant.partnerLane
  const [failed] = await failMessages({ redis, queues }, lane, { count: 1, retentionMs: RETENTION_MS })
  await remove(lane)
  const trim = async (nowMs: number) => {
    await trimmedLately(redis).remove()
    await trimRequeueable(redis, { nowMs, retentionMs: RETENTION_MS, everyMs: 1_000 })
    return requeueableOn(redis, lane).count()
  }
  expect(failed).toBeDefined()
  expect(await trim(Date.now())).toBe(1)
  expect(await trim(Date.now() + RETENTION_MS + DAY_MS)).toBe(0)
})

/** A dead letter, as BullMQ keeps it. */
async function deadLetter(lane: number): Promise<void> {
  await addDeadLetter(redis, messageId(lane, newUlid(Date.now())), 'broken', Date.now())
}

const inQueues = (lane: number): Promise<string[]> => namesInQueue(redis, lane)

test('removing a sender twice has the effect of removing it once', async () => {
  const tenant = await service.addTenant()
  const lane = tenant.partnerLane
  await deadLetter(lane)
  expect((await inQueues(lane)).length).toBeGreaterThan(1)
  const first = await remove(lane)
  expect(await remove(lane)).toMatchObject({ id: first.id, account: tenant.account })
  expect(await inQueues(lane)).toEqual([])
  const admin = await tenant.apiWith('admin')
  const again = await admin.delete(`/admin/senders/${lane}`)
  expect([again.status, again.json]).toEqual([200, { status: true, message: 'removed' }])
  const other = await service.addTenant()
  const foreign = await (await other.apiWith('admin')).delete(`/admin/senders/${lane}`)
  expect(foreign.status).toBe(404)
  expect((await admin.get(`/admin/senders/${lane}`)).status).toBe(404)
})

test('a process that dies at any command of a removal is followed by another that removes the rest', async () => {
  // There are no other processes that the removal must wait for.
  const wait = vi
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation(((work: () => void, ms?: number) =>
      setTimeoutOf(work, ms === 1_500 ? 0 : ms)) as typeof setTimeout)
  let deaths = 0
  for (let commands = 3, died = true; died; commands += 1) {
    const tenant = await service.addTenant()
    const lane = tenant.partnerLane
    await deadLetter(lane)
    const [failed] = await failMessages({ redis, queues }, lane, { count: 1 })
    const dying = await dyingAfter(service.server.url, commands)
    const lost = openLaneQueues(dying)
    died = await dropSender({ redis: dying, queues: lost }, lane, RETENTION_MS).then(
      () => false,
      () => true,
    )
    void lost.close()
    dying.disconnect()
    // As it does by itself when its holder has died.
    await sendersLock(redis).remove()
    deaths += died ? 1 : 0
    await remove(lane)
    expect(await inQueues(lane), `after ${commands} commands`).toEqual([])
    expect((await listSenders(redis, tenant.account)).map(({ id }) => id)).toEqual([tenant.cloudLane])
    expect((await findSender(redis, lane))?.removed_at).toBeGreaterThan(0)
    expect(await messageRecord(redis, { lane, ulid: failed?.ulid ?? '' }).isThere()).toBe(true)
  }
  expect(deaths).toBeGreaterThan(20)
  wait.mockRestore()
})

const config = () => service.config
const forget = (nowMs: number) =>
  forgetLanes({ redis, queues, files: files(), config: config(), log: silentLog }, nowMs)

test('nothing is left of a removed sender once its last messages and events have expired, and not before', async () => {
  const tenant = await service.addTenant()
  const lane = tenant.cloudLane
  const receiver = await listeningTo(tenant)
  await failMessages({ redis, queues }, lane, { count: 1 })
  const [name = ''] = await sentMessages(redis, lane, 1, false)
  await accountRecord(redis, tenant.account).change({ template_check: 'off' })
  const definition = {
    sender: 'cloud',
    template: { name: 'hi', language: { code: 'en' }, components: [] },
    recipients: { tags: [1], except: [] },
  }
  const ended = await createCampaign(redis, { account: tenant.account, lane, definition }, Date.now())
  await moveCampaign(redis, ended, 'cancel', RETENTION_MS)
  await remove(lane)
  // What comes late: a status, a received message that is kept for longer, a campaign that was being made.
  const late = Date.now() + RETENTION_MS
  const { ulid = '' } = parseMessageId(name) ?? {}
  await recordStatus(redis, { lane, ulid }, 'AAAAAA', 'delivered')
  const received = { id: 'wamid.late', lane, from: '491520771002', type: 'text', text: 'late' }
  await storeInbound(redis, tenant.account, { ...received, received_at: Date.now() }, 2 * RETENTION_MS)
  const draft = await createCampaign(redis, { account: tenant.account, lane, definition }, Date.now())
  await eventually(async () => (await outboxOf(redis, lane).count()) >= 3 || undefined, 'the late events are written')

  await forget(late - DAY_MS)
  await forget(late + DAY_MS)
  expect((await listRetainedSenders(redis, tenant.account)).map(({ id }) => id)).toContain(lane)
  expect(await findInbound(redis, tenant.account, received.id)).toMatchObject({ text: 'late' })
  expect(await findCampaign(redis, draft)).toMatchObject({ state: 'cancelled' })

  // Two months later all that has an end has come to it.
  await letLaneExpire(redis, lane)
  await forget(Date.now() + 3 * RETENTION_MS)
  expect(await placesOf(lane)).toEqual([])
  expect(await findSender(redis, lane)).toBeUndefined()
  expect((await listRetainedSenders(redis, tenant.account)).map(({ id }) => id)).toEqual([tenant.partnerLane])
  const [endpoint] = await listEndpoints(redis, tenant.account)
  expect(endpoint && [...(await readCursors(redis, endpoint)).keys()]).not.toContain(lane)
  await receiver.close()
})

test('a lane whose removal was cut short before it left the list of senders is not forgotten', async () => {
  const tenant = await service.addTenant()
  const lane = tenant.partnerLane
  await retainLaneUntil(redis, { lane, account: tenant.account }, Date.now() - DAY_MS)
  await forget(Date.now())
  expect((await listSenders(redis, tenant.account)).map(({ id }) => id)).toContain(lane)
  expect(await retainedLanes(redis, tenant.account)).toEqual([lane, tenant.cloudLane])
  expect((await lanesRetainedUntil(redis, Date.now())).map(({ lane }) => lane)).not.toContain(lane)
})
