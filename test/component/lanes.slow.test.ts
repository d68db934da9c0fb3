// Pins: what a lane does with its messages: opens and closes, sends transactional ones first, waits as the provider asks,
// delays one recipient alone, stops when its sender is refused, and keeps from its neighbours. Real: Redis, HTTP,
// producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { findSender, setSenderAccess, setSenderRate } from '../../src/accounts/senders.ts'
import { acceptedAtMs, parseMessageId } from '../../src/kernel/message-id.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { type HistoryEvent, readHistory } from '../../src/model/messages/history.ts'
import { stalledSince, unwatch, watch } from '../../src/providers/stalls.ts'
import { startWorker } from '../../src/worker/main.ts'
import { silentLog } from '../support/app.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { flashSale } from '../support/example-templates.ts'
import { acknowledgedId, audioTo, deliveryOf, reaches, sendTo } from '../support/messages.ts'
import { startPartner } from '../support/partner.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { readLedger } from '../support/simulator-wires.ts'
import { addSilently, loseJob, nextLook } from '../support/state/lanes.ts'
import { eventually } from '../support/wait.ts'

let service: Service
beforeAll(async () => {
  service = await startService({ env: { LANEWAY_LANE_IDLE_SECONDS: '0.1' }, templates: [flashSale] })
})
afterAll(() => service?.close())

const control = async (body: object): Promise<void> => {
  const answer = await fetch(`${service.simulator.url}/_control`, { method: 'POST', body: JSON.stringify(body) })
  expect(answer.status).toBe(200)
}

/** The record of a message, with its history unpacked; undefined as long as it was never claimed. */
async function readRecord(name: string) {
  const id = parseMessageId(name)
  const record = id && (await readMessage(service.redis, id))
  return record && { ...record, story: readHistory(record.history, acceptedAtMs(id.ulid)) }
}

async function recordOf(name: string) {
  const record = await readRecord(name)
  if (!record) throw new Error(`no record of ${name}`)
  return record
}

const recipientsInOrder = async (): Promise<string[]> => (await readLedger(service.simulator.url)).map(({ to }) => to)

test('a lane that serves messages holds no connection of its own', async () => {
  const [one, two] = [await service.addTenant(), await service.addTenant()]
  const blocked = async () => Number(/blocked_clients:(\d+)/.exec(await service.redis.info('clients'))?.[1])
  // The queues that belong to no lane hold connections of their own, a few moments after the start.
  const seen: number[] = []
  const atRest = await eventually(async () => {
    seen.push(await blocked())
    const latest = new Set(seen.slice(-40))
    return seen.length >= 40 && latest.size === 1 ? seen.at(-1) : undefined
  }, 'the number of connections is steady')
  const sent = [one, two].map(async (tenant) =>
    reaches(service, tenant, await sendTo(service, tenant, '+491700000001'), 'read'),
  )
  await Promise.all(sent)
  const { cloudLane } = one
  const queues = openLaneQueues(service.redis)
  // A message for later keeps its lane open, so that there is time to look.
  await addSilently(service.redis, cloudLane, 'for-later', {}, 60_000)
  const looked = nextLook(cloudLane)
  queues.wake(cloudLane)
  await looked
  // Fewer for a moment when the wait of another one was just over.
  expect(await blocked()).toBeLessThanOrEqual(atRest)
  await loseJob(service.redis, 'for-later', cloudLane)
  await queues.close()
})

test.concurrent('transactional messages leave before campaign messages that were queued first', async () => {
  // Slow enough that a busy machine gets the late one in before the last ones have left.
  const tenant = await service.addTenant({ rate: 2 })
  const queues = openLaneQueues(service.redis)
  // All are there before the first leaves.
  await queues.pause(tenant.partnerLane)
  const components = [
    { type: 'HEADER', parameters: [{ type: 'IMAGE', image: { link: 'https://x.example/a.png' } }] },
    { type: 'BODY', parameters: [{ type: 'text', text: 'Ann' }] },
    { type: 'BUTTON', sub_type: 'URL', index: '0', parameters: [{ type: 'text', text: 'x' }] },
    { type: 'BUTTON', sub_type: 'COPY_CODE', index: '1', parameters: [{ type: 'coupon_code', coupon_code: 'SAVE' }] },
  ]
  for (let i = 0; i < 30; i += 1) {
    const template = { name: 'flash_sale', language: { code: 'en_US' }, components }
    const body = {
      ...audioTo(`+4917000030${10 + i}`, { type: 'template', audio: undefined }),
      sender: tenant.partnerNumber,
      template,
    }
    const answer = await service.post('/chatappbusiness/send-templated-message', { ...body, api_key: tenant.apiKey })
    acknowledgedId(answer)
  }
  const urgent = Array.from({ length: 4 }, (_, i) => `4917000031${10 + i}`)
  for (const to of urgent) await sendTo(service, tenant, `+${to}`)
  await queues.resume(tenant.partnerLane)
  await queues.close()
  await eventually(
    async () => (await recipientsInOrder()).filter((to) => to.startsWith('4917000030')).length >= 4,
    'campaign',
  )
  // While the campaign is on its way another one comes in between.
  await sendTo(service, tenant, '+491700003199')
  await setSenderRate(service.redis, tenant.partnerLane, 20)
  const order = await eventually(async () => {
    const taken = (await recipientsInOrder()).filter((to) => /^491700003[01]/.test(to))
    return taken.length >= 35 && taken
  }, 'all are sent')
  expect(order.slice(0, 4).toSorted()).toEqual(urgent)
  expect(order.indexOf('491700003199')).toBeLessThan(order.length - 5)
  expect(new Set(order).size).toBe(35)
})

test.concurrent('the pair limit delays that recipient alone, however many messages it has, and uses up no try', async () => {
  const tenant = await service.addTenant({ defaultProvider: 'cloud-api', rate: 10 })
  const limited = await Promise.all(Array.from({ length: 50 }, () => sendTo(service, tenant, '+15550100004')))
  const others = await Promise.all(Array.from({ length: 5 }, (_, i) => sendTo(service, tenant, `+49170000320${i}`)))
  for (const id of others) await reaches(service, tenant, id, 'read')
  const refusals = async () => {
    const records = await Promise.all(limited.map(readRecord))
    const stories = records.flatMap((record) => record?.story ?? [])
    return stories.filter(({ code }) => code === 'u').map(({ atMs }) => atMs)
  }
  // One rest of a second and one of four: then it is asked the third time.
  await eventually(async () => {
    const times = await refusals()
    return Math.max(...times) - Math.min(...times) >= 5_000
  }, 'two rests')
  // Those of the first burst were under way together, which are a second's at most, and then one at a time.
  expect((await refusals()).length).toBeLessThan(25)
  for (const record of await Promise.all(limited.map(readRecord))) {
    if (record) expect(record).toMatchObject({ tries: 0, state: 'queued' })
  }
  for (const id of limited) expect((await deliveryOf(service, tenant, id)).status).toBe('queued')
  expect(await recipientsInOrder()).not.toContain('15550100004')
})

test.concurrent('messages to a recipient whose pair limit is over are sent one after the other', async () => {
  const tenant = await service.addTenant({ defaultProvider: 'cloud-api', rate: 5 })
  await control({ behaviour: 'pair-limited', match: { to: '+491700003250' }, count: 1 })
  const ids = await Promise.all(Array.from({ length: 2 }, () => sendTo(service, tenant, '+491700003250')))
  for (const id of ids) await reaches(service, tenant, id, 'read', 30_000)
  expect((await recipientsInOrder()).filter((to) => to === '491700003250')).toHaveLength(2)
})

test.concurrent('a refused sender stops its lane with the reason, and keeps its messages until a person resumes it', async () => {
  const [tenant, other] = [await service.addTenant(), await service.addTenant()]
  await control({ behaviour: 'token-expired', match: { to: '+491700003301' }, count: 1 })
  const refused = await sendTo(service, tenant, '+491700003301')
  const queues = openLaneQueues(service.redis)
  await eventually(() => queues.isPaused(tenant.partnerLane), 'the lane is paused')
  const reason = await eventually(
    async () => (await findSender(service.redis, tenant.partnerLane))?.paused_for || undefined,
    'a reason',
  )
  expect(reason).toContain('code 190')
  const waiting = await sendTo(service, tenant, '+491700003302')
  const elsewhere = await sendTo(service, other, '+491700003303')
  await reaches(service, other, elsewhere, 'read')
  for (const id of [refused, waiting]) expect((await deliveryOf(service, tenant, id)).status).toBe('queued')
  expect(await recordOf(refused)).toMatchObject({ tries: 0 })
  const list = await runCli(['lanes', 'list', '--json'], { REDIS_URL: service.server.url })
  // The refused one stands behind the others, so that it cannot hold them up again.
  const oldest = new Date(acceptedAtMs(parseMessageId(waiting)?.ulid ?? '')).toISOString()
  const lanes: { lane: number }[] = documentIn(list.stdout)
  const laneOf = (lane: number) => lanes.find((each) => each.lane === lane)
  expect(laneOf(tenant.partnerLane)).toMatchObject({ waiting: 1, delayed: 1, oldest_waiting_at: oldest })
  expect(laneOf(other.partnerLane)).toMatchObject({ waiting: 0, oldest_waiting_at: null })

  const admin = await tenant.apiWith('admin')
  expect((await admin.post(`/admin/lanes/${tenant.cloudLane}/resume`, {})).status).toBe(200)
  const resumed = await runCli(['lanes', 'resume', String(tenant.partnerLane)], { REDIS_URL: service.server.url })
  // As it answers some may be on their way.
  expect(resumed.stdout).toMatch(new RegExp(`^Lane ${tenant.partnerLane} is resumed; (0|1|2) messages? waits?\\.\n$`))
  for (const id of [refused, waiting]) await reaches(service, tenant, id, 'read')
  expect((await recipientsInOrder()).filter((to) => to === '491700003301')).toHaveLength(1)
  await queues.close()
})

test.concurrent('a slow lane does not delay another one', async () => {
  const [slow, quick] = [await service.addTenant({ rate: 1 / 600 }), await service.addTenant()]
  const held = await Promise.all(Array.from({ length: 5 }, () => sendTo(service, slow, '+491700003401')))
  await eventually(async () => (await recipientsInOrder()).includes('491700003401'), 'the slow lane sends one')
  const id = await sendTo(service, quick, '+491700003402')
  await reaches(service, quick, id, 'read', 15_000)
  const states = await Promise.all(held.map(async (each) => (await deliveryOf(service, slow, each)).status))
  expect(states.filter((state) => state === 'queued')).toHaveLength(4)
})

async function throttledTenant(url: string, rate = 50): Promise<Tenant> {
  const tenant = await service.addTenant({ rate })
  const sealedToken = createSeal(secretKeysOf(service.config)).encrypt('token')
  await setSenderAccess(service.redis, tenant.partnerLane, { baseUrl: url, sealedToken })
  return tenant
}

test('Retry-After is obeyed by all workers: nothing is claimed during it, and everything arrives once', async () => {
  const second = await startWorker(service.config, service.server.url, silentLog)
  const stallMark = watch()
  onTestFinished(unwatch)
  /** How long this process had stood still until each request. */
  const stalledMs: number[] = []
  const partner = await startPartner({
    throttle(send) {
      stalledMs.push(stalledSince(stallMark))
      return send === 3 ? { 'retry-after': '6' } : undefined
    },
  })
  const tenant = await throttledTenant(partner.url, 16)
  const queues = openLaneQueues(service.redis)
  // All are there before the first leaves, and nobody asks meanwhile: this one process measures times. At the lane's
  // pace they would take longer than the Retry-After.
  await queues.pause(tenant.partnerLane)
  const numbers = Array.from({ length: 120 }, (_, i) => `+4917000035${100 + i}`)
  const ids = await Promise.all(numbers.map((to) => sendTo(service, tenant, to)))
  await queues.resume(tenant.partnerLane)
  await eventually(async () => partner.sends.length >= 121, 'all requests', 120_000)
  await eventually(async () => {
    const records = await Promise.all(ids.map(readRecord))
    return records.every((record) => record && !['queued', 'sending'].includes(record.state))
  }, 'all answers are written down')
  const refused = partner.sends.find((each) => each.refused)
  const again = partner.sends.find(({ to, ...each }) => to === refused?.to && !each.refused)
  const sinceRefusal = partner.sends.map(({ atMs }) => atMs - (refused?.atMs ?? 0))
  expect((again?.atMs ?? 0) - (refused?.atMs ?? 0)).toBeGreaterThanOrEqual(6_000)
  // What was under way cannot be called back, and a busy machine is late to read the answer: half the time is left. What
  // was written before this process stood still arrives after that.
  const stoodStill = (send: number) => (stalledMs[send] ?? 0) - (stalledMs[3] ?? 0)
  expect(sinceRefusal.filter((ms, send) => ms - stoodStill(send) > 3_000 && ms < 6_000)).toEqual([])
  expect(sinceRefusal.filter((ms) => ms >= 6_000).length).toBeGreaterThan(20)
  const taken = partner.sends.filter((each) => !each.refused).map(({ to }) => to)
  expect(taken).toHaveLength(120)
  expect(new Set(taken).size).toBe(120)
  const stories: HistoryEvent[] = []
  for (const id of ids) {
    const record = await recordOf(id)
    expect(record).toMatchObject({ tries: 0 })
    stories.push(...record.story)
  }
  // By the clock of Redis there is no slack at all, however busy the machine.
  // A message that missed its turn is proven unsent as well, at any time.
  const refusedAt = stories.find(({ code, detail }) => code === 'u' && detail === 'http_429')?.atMs ?? Number.NaN
  expect(refusedAt).toBeGreaterThan(0)
  const claims = stories.filter(({ code }) => code === 'c').map(({ atMs }) => atMs - refusedAt)
  expect(claims.filter((ms) => ms > 0 && ms < 2_000)).toEqual([])
  await queues.close()
  await partner.close()
  await second.close()
})

describe.concurrent('a Retry-After', () => {
  test.each([
    ['of nothing', { 'retry-after': '0' }],
    ['that has passed', { 'retry-after': new Date(Date.now() - 60_000).toUTCString() }],
    ['that nobody can read', { 'retry-after': 'soon' }],
  ])('%s neither loses the message nor makes the lane try again and again', async (_name, headers) => {
    const partner = await startPartner({ throttle: (send) => (send < 2 ? headers : undefined) })
    const tenant = await throttledTenant(partner.url)
    const id = await sendTo(service, tenant, '+491700003601')
    await reaches(service, tenant, id, 'delivered')
    expect(partner.sends.map(({ refused }) => refused)).toEqual([true, true, false])
    const [first, second] = partner.sends
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(990)
    await partner.close()
  })
})
