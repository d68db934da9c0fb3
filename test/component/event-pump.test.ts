// Pins: what one round of telling does, at an endpoint that takes, fails, hangs, is away for long or is told by somebody
// else as well. Rounds are taken by hand, one at a time. Real: Redis, the outboxes, the queue, HTTP.
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { findSender } from '../../src/accounts/senders.ts'
import type { Target } from '../../src/events/deliver.ts'
import { createRetries } from '../../src/events/endpoint-retries.ts'
import { createPump, MOST_AT_ONCE } from '../../src/events/pump.ts'
import { readCursors } from '../../src/events/store/endpoint-cursors.ts'
import { openEndpointQueue } from '../../src/events/store/endpoint-queue.ts'
import {
  changeEndpoint,
  createEndpoint,
  findEndpoint,
  newEndpointId,
  noteOutcome,
  removeEndpoint,
} from '../../src/events/store/endpoints.ts'
import { listen } from '../../src/events/store/outbox.ts'
import type { EventJob } from '../../src/jobs/background.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { newEndpointFields } from '../../src/model/events/endpoint.ts'
import { createTargetAgent } from '../../src/outbound/target-agent.ts'
import { createTargetRule } from '../../src/outbound/target-rule.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import { silentLog } from '../support/app.ts'
import { answerWith, type EventReceiver, startReceiver, take } from '../support/event-receiver.ts'
import { type LaneRedis, startLaneRedis } from '../support/lane-redis.ts'
import { sentMessages } from '../support/sent-messages.ts'
import { cursorsOf, endpointLooks, firstRetryOf, relayClock } from '../support/state/accounts.ts'
import { outboxOf } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const seal = createSeal(['a key of at least thirty-two characters'])
/** First retries wait for so long that no test sees one unless it is brought forward. */
const RETRY_MS = 600_000
const HOUR = 3_600_000

let lanes: LaneRedis
let deps: Parameters<typeof createRetries>[0]
const ends: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  lanes = await startLaneRedis()
  const events = { retryMs: [RETRY_MS, RETRY_MS], retentionMs: 3_600_000, allowPrivate: [] }
  const nowMs = relayClock(lanes.redis)
  deps = { redis: lanes.redis, log: silentLog, seal, nowMs, config: { events } }
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})
afterAll(() => lanes?.close())

async function create(account: number, fields: object) {
  const how = { seal, nowMs: Date.now(), id: newEndpointId() }
  return (await createEndpoint(lanes.redis, account, newEndpointFields.parse(fields), how)).endpoint
}

/** An endpoint that is told of a lane of its own, a round at a time. */
async function listener(fields: object = {}) {
  const { redis } = lanes
  const lane = await lanes.addSender()
  const sender = await findSender(redis, lane)
  if (sender === undefined) throw new Error('no sender')
  const receiver = await startReceiver()
  const endpoint = await create(sender.account, { url: receiver.url, types: ['message.sent'], ...fields })
  const agent = createTargetAgent(createTargetRule(['127.0.0.0/8']), MOST_AT_ONCE)
  const senders = new Map([[lane, sender]])
  const stopping = new AbortController()
  const target: Target = {
    ...{ endpoint, senders, agent, failures: 0, pausedUntil: 0, successNotedAt: 0 },
  }
  const retries = createRetries(deps, target, stopping.signal)
  const queue = openEndpointQueue(redis, endpoint)
  ends.push(async () => {
    stopping.abort()
    await retries.stop(1_000)
    await queue.close()
    await agent.destroy()
    await receiver.close()
    await removeEndpoint(redis, endpoint)
  })
  const pump = () => createPump(deps, target, retries)
  return { account: sender.account, lane, senders, receiver, target, retries, queue, pump, stopping }
}

const happen = (lane: number, count = 1, isDelivered = false): Promise<string[]> =>
  sentMessages(lanes.redis, lane, count, isDelivered)

const never = new AbortController().signal
type Pump = ReturnType<typeof createPump>
/** Takes rounds until something is so. */
const until = (pump: Pump, what: string, isSo: () => unknown) =>
  eventually(async () => {
    await pump.step(never)
    return isSo()
  }, what)
const toldIds = (receiver: EventReceiver) => receiver.events().map(({ id }) => id)
const failuresOf = async (queue: ReturnType<typeof openEndpointQueue>): Promise<number[]> =>
  (await queue.getJobs(['delayed', 'waiting'])).flatMap(({ data }) => (data.kind === 'deliver' ? [data.failures] : []))

test('an endpoint receives nothing from before it was created', async () => {
  const first = await listener()
  await happen(first.lane)
  const writtenMs = Date.now()
  await eventually(async () => Date.now() > writtenMs + 1, 'a later millisecond')
  first.target.endpoint = await create(first.account, { url: first.receiver.url, types: ['message.sent'] })
  const pump = first.pump()
  const [id] = await happen(first.lane)
  await until(pump, 'the event', () => first.receiver.taken.length > 0)
  expect(toldIds(first.receiver)).toEqual([id])
})

test('events of a sender added while an endpoint is served are delivered from then on', async () => {
  const { lane, receiver, target, pump } = await listener()
  const running = pump()
  await happen(lane)
  await until(running, 'the first', () => receiver.taken.length > 0)
  const added = await lanes.addSender()
  const sender = await findSender(lanes.redis, added)
  if (sender === undefined) throw new Error('no sender')
  await listen(lanes.redis, sender.account)
  target.senders = new Map([...target.senders, [added, sender]])
  const [id] = await happen(added)
  await until(running, 'the event of the added one', () => toldIds(receiver).includes(id))
})

test('an endpoint receives the event that another was disabled, and none about itself', async () => {
  const { account, receiver, target, pump } = await listener({ types: ['endpoint.disabled'] })
  const other = await listener()
  const nowMs = Date.now()
  expect(await noteOutcome(lanes.redis, target.endpoint, 'gone', nowMs)).toBe('disabled')
  await noteOutcome(lanes.redis, other.target.endpoint, 'gone', nowMs)
  const own = await findEndpoint(lanes.redis, account, target.endpoint.id)
  if (own === undefined) throw new Error('no endpoint')
  target.endpoint = await changeEndpoint(lanes.redis, own, { enabled: true })
  const running = pump()
  await until(running, 'the event', () => receiver.taken.length > 0)
  await running.step(never)
  expect(toldIds(receiver)).toEqual([other.target.endpoint.id])
})

test('while one event waits for its answer others are delivered, but none of the same message', async () => {
  const { lane, receiver, pump } = await listener({ types: ['message.sent', 'message.delivered'] })
  const [held = '', ...others] = await happen(lane, 6, true)
  let release: () => void = () => undefined
  receiver.behave = (request, response, delivery) => {
    const [event] = delivery.events
    if (event?.id !== held || event.type !== 'message.sent') return take(request, response, delivery)
    release = () => take(request, response, delivery)
  }
  const round = pump().step(never)
  await eventually(
    async () => others.every((id) => toldIds(receiver).filter((told) => told === id).length === 2),
    'both events of the others',
  )
  const ofHeld = () => receiver.all.flatMap(({ events }) => events.filter(({ id }) => id === held))
  expect(ofHeld().map(({ type }) => type)).toEqual(['message.sent'])
  release()
  expect(await round).toBe(0)
  expect(ofHeld().map(({ type }) => type)).toEqual(['message.sent', 'message.delivered'])
})

test('a batch waits to be full, up to its limit, and reports how old its oldest event is', async () => {
  const { lane, receiver, pump, target } = await listener({ batch: { max_events: 5, max_wait_ms: 60_000 } })
  const running = pump()
  const beganMs = Date.now()
  await happen(lane, 3)
  for (let round = 0; round < 4; round += 1) expect(await running.step(never)).toBeGreaterThan(0)
  expect(receiver.all).toEqual([])
  expect(running.oldestWaiting()).toBeGreaterThanOrEqual(beganMs - 1_000)
  expect(running.oldestWaiting()).toBeLessThanOrEqual(Date.now())
  await happen(lane, 2)
  await until(running, 'the full batch', () => receiver.taken.length > 0)
  expect(receiver.taken.map(({ events }) => events.length)).toEqual([5])
  expect(running.oldestWaiting()).toBeUndefined()

  target.endpoint = { ...target.endpoint, max_wait_ms: 100 }
  const waitsFrom = performance.now()
  await happen(lane)
  await until(running, 'what had waited long enough', () => receiver.taken.length > 1)
  expect(performance.now() - waitsFrom).toBeGreaterThanOrEqual(90)
})

test('an endpoint that fails is paused for a while, then tried with one delivery; the rest waits with it', async () => {
  const { lane, receiver, target, queue, pump } = await listener()
  receiver.behave = answerWith(500)
  await happen(lane, 20)
  const running = pump()
  const failedFrom = performance.now()
  await until(running, 'the first failures', () => receiver.all.length > 0)
  expect(target.pausedUntil).toBeGreaterThan(failedFrom + 1_000)
  // A second may be over before the next step on a slow machine.
  target.pausedUntil = performance.now() + HOUR
  const tried = receiver.all.length
  // Eight at once at most: after one failure no other is begun.
  expect(tried).toBeLessThanOrEqual(8)
  const failures = await failuresOf(queue)
  expect([failures.length, failures.filter((each) => each === 1).length]).toEqual([20, tried])

  await happen(lane, 4)
  expect(await running.step(never)).toBeLessThanOrEqual(300)
  expect(receiver.all).toHaveLength(tried)
  target.pausedUntil = 0
  const triedFrom = performance.now()
  await until(running, 'one more try', () => receiver.all.length > tried)
  expect(receiver.all).toHaveLength(tried + 1)
  expect(target.pausedUntil).toBeGreaterThan(triedFrom + 3_000)
})

test('the wait that an endpoint asks for is kept', async () => {
  const { lane, receiver, target, queue, pump } = await listener()
  receiver.behave = answerWith(429, { 'retry-after': '120' })
  await happen(lane)
  const running = pump()
  const failedFrom = performance.now()
  await until(running, 'the failure', () => receiver.all.length > 0)
  expect(target.pausedUntil).toBeGreaterThan(failedFrom + 120_000)
  expect(target.pausedUntil).toBeLessThanOrEqual(performance.now() + 120_000)
  const [job] = await queue.getJobs(['delayed'])
  expect(job?.delay).toBe(120_000)
})

test('waiting deliveries are tried at once when an endpoint that was away for long answers, and not after a short absence', async () => {
  const { lane, receiver, target, retries, queue, pump } = await listener()
  const running = pump()
  const failed: string[] = []
  const fail = async (): Promise<void> => {
    receiver.behave = answerWith(503)
    const tries = receiver.all.length
    failed.push(...(await happen(lane)))
    target.pausedUntil = 0
    await until(running, 'a failure', () => receiver.all.length > tries)
  }
  const succeed = async (): Promise<void> => {
    receiver.behave = take
    const [id] = await happen(lane)
    target.pausedUntil = 0
    await until(running, 'a success', () => toldIds(receiver).includes(id))
  }
  for (let round = 0; round < 2; round += 1) await fail()
  await succeed()
  expect(await queue.getJobCounts('delayed')).toEqual({ delayed: 2 })
  for (let round = 0; round < 2; round += 1) await fail()
  await succeed()
  expect([await queue.getJobCounts('delayed'), await retries.waiting()]).toEqual([{ delayed: 4 }, 4])
  for (let round = 0; round < 3; round += 1) await fail()
  await succeed()
  await eventually(async () => failed.every((id) => toldIds(receiver).includes(id)), 'all that had failed')
})

test('an endpoint that fails and has a thousand deliveries waiting receives nothing new', async () => {
  const { lane, receiver, target, queue, pump } = await listener()
  await happen(lane)
  const data: EventJob = { v: 1, kind: 'deliver', refs: [], failures: 1 }
  await queue.addBulk(Array.from({ length: 1_000 }, () => ({ name: 'deliver', data, opts: { delay: RETRY_MS } })))
  target.failures = 1
  const running = pump()
  expect(await running.step(never)).toBe(2_000)
  expect(receiver.all).toEqual([])
  const [one] = await queue.getJobs(['delayed'], 0, 0)
  await one?.remove()
  await until(running, 'the event', () => receiver.taken.length > 0)
})

test('an endpoint that is disabled or answers that it is gone keeps its position', async () => {
  const { lane, receiver, target, queue, pump } = await listener()
  const [id] = await happen(lane)
  target.endpoint = { ...target.endpoint, enabled: false }
  const running = pump()
  expect(await running.step(never)).toBeGreaterThan(0)
  expect(receiver.all).toEqual([])
  target.endpoint = { ...target.endpoint, enabled: true }
  receiver.behave = answerWith(410)
  await until(running, 'the answer', () => receiver.all.length > 0)
  expect([target.endpoint.enabled, await queue.getJobCounts('delayed')]).toEqual([false, { delayed: 0 }])
  expect((await readCursors(lanes.redis, target.endpoint)).get(lane)).toBeUndefined()
  target.endpoint = { ...target.endpoint, enabled: true }
  target.failures = 0
  receiver.behave = take
  await until(running, 'the event', () => toldIds(receiver).includes(id))
})

test.each([
  ['takes it', take],
  ['does not take it', answerWith(500)],
  ['answers that it is gone', answerWith(410)],
])('a change during a request is kept when the endpoint %s', async (_name, answer) => {
  const { account, lane, receiver, target, pump } = await listener()
  await happen(lane)
  let release: () => void = () => undefined
  receiver.behave = (...args) => {
    release = () => answer(...args)
  }
  const round = pump().step(never)
  await eventually(async () => receiver.all.length > 0, 'it is under way')
  const changes = { types: ['message.failed' as const], enabled: false }
  target.endpoint = await changeEndpoint(lanes.redis, target.endpoint, changes)
  release()
  await round
  expect(target.endpoint).toMatchObject({ ...changes, disabled_for: 'by hand' })
  expect(await findEndpoint(lanes.redis, account, target.endpoint.id)).toEqual(target.endpoint)
})

test('an endpoint that was given another address is not disabled by an answer of the old one', async () => {
  const { account, lane, receiver, target, retries, pump } = await listener()
  const [id] = await happen(lane)
  let release: () => void = () => undefined
  receiver.behave = (...args) => {
    release = () => answerWith(410)(...args)
  }
  const round = pump().step(never)
  await eventually(async () => receiver.all.length > 0, 'it is under way')
  const next = await startReceiver()
  ends.push(next.close)
  target.endpoint = await changeEndpoint(lanes.redis, target.endpoint, { url: next.url })
  release()
  await round
  expect(target.endpoint).toMatchObject({ url: next.url, enabled: true })
  expect(await findEndpoint(lanes.redis, account, target.endpoint.id)).toMatchObject({ url: next.url, enabled: true })
  await retries.promote()
  await eventually(async () => toldIds(next).includes(id), 'the event')
})

test('what a stopped process was delivering is delivered once more by the next', async () => {
  const { lane, receiver, pump, stopping, target } = await listener()
  const [id] = await happen(lane)
  receiver.behave = () => undefined
  const running = pump()
  const round = running.step(stopping.signal)
  await eventually(async () => receiver.all.length > 0, 'it is under way')
  stopping.abort()
  await round
  expect((await readCursors(lanes.redis, target.endpoint)).get(lane)).toBeUndefined()
  receiver.behave = take
  await until(pump(), 'the event', () => toldIds(receiver).includes(id))
})

test('of two that serve an endpoint, the one that fell behind goes on from the position of the other', async () => {
  const { account, lane, receiver, target, pump } = await listener()
  const cursor = async () => (await readCursors(lanes.redis, target.endpoint)).get(lane)
  const { newest } = outboxOf(lanes.redis, lane)
  const running = pump()
  await happen(lane)
  await until(running, 'the first', async () => receiver.taken.length > 0 && (await cursor()) === (await newest()))
  await happen(lane)
  const passed = (await newest()) ?? ''
  const [second] = await happen(lane)
  await cursorsOf(lanes.redis, account, target.endpoint.id).change({ [String(lane)]: passed })
  // It knows of nothing yet, tells both once more, and is refused; then it tells only what the other has not.
  await until(running, 'the second', () => toldIds(receiver).includes(second))
  const [third] = await happen(lane)
  await until(running, 'the third, and its place', async () => (await cursor()) === (await newest()))
  expect(toldIds(receiver).filter((told) => told === third)).toHaveLength(1)
})

test.each([
  ['ahead', HOUR],
  ['behind', -HOUR],
])(
  'on a machine whose clock is an hour %s a delivery is signed with Redis’ time, and tried again when it is due',
  async (_where, skew) => {
    const { lane, receiver, target, queue, retries, pump } = await listener()
    const { redis } = lanes
    const { id } = target.endpoint
    let signedAt = 0
    receiver.behave = (request, ...rest) => {
      signedAt = Number(request.headers['webhook-timestamp']) * 1_000
      answerWith(500)(request, ...rest)
    }
    await happen(lane)
    const realNow = Date.now
    vi.spyOn(Date, 'now').mockImplementation(() => realNow() + skew)
    try {
      const began = await redisNowMs(redis)
      const from = performance.now()
      await until(pump(), 'the failure', () => receiver.all.length > 0)
      await eventually(async () => (await queue.getJobCounts('delayed')).delayed === 1, 'that it waits')
      // Whole seconds, of a clock that is behind by as long as Redis' answer took.
      expect(signedAt).toBeGreaterThan(began - 1_001 - (performance.now() - from))
      expect(signedAt).toBeLessThan((await redisNowMs(redis)) + 1)
      const dueAt = [
        await firstRetryOf(redis, id),
        Number(await endpointLooks(redis).timeOf(`${target.endpoint.account} ${id}`)),
      ]
      for (const at of dueAt) {
        expect(at).toBeGreaterThan(began + 0.7 * RETRY_MS)
        expect(at).toBeLessThan((await redisNowMs(redis)) + 1.3 * RETRY_MS)
      }
      expect(Math.abs((target.endpoint.failing_since ?? 0) - began)).toBeLessThan(60_000)
      // The process that works on the queue goes on to say so while something is due, and stops when nothing is.
      receiver.behave = take
      await queue.promoteJobs()
      await retries.check()
      await eventually(async () => receiver.taken.length === 1, 'the second try')
      // It rests: the next look is a minute ahead.
      await eventually(async () => {
        const next = Number(await endpointLooks(redis).timeOf(`${target.endpoint.account} ${id}`))
        return next > (await redisNowMs(redis)) + 40_000
      }, 'that it rests')
    } finally {
      vi.restoreAllMocks()
    }
  },
)

test('on a full Redis what was delivered is not delivered again, and an endpoint that fails is spared', async () => {
  const { lane, receiver, target, pump } = await listener()
  const running = pump()
  const ids = await happen(lane, 3)
  const { redis } = lanes
  await redis.config('SET', 'maxmemory', '1')
  try {
    await until(running, 'the events', () => receiver.taken.length > 0)
    for (let round = 0; round < 5; round += 1) await running.step(never)
    expect(toldIds(receiver)).toEqual(ids)
    await redis.config('SET', 'maxmemory', '0')
    await happen(lane)
    await redis.config('SET', 'maxmemory', '1')
    receiver.behave = answerWith(500)
    await until(running, 'a failure', () => target.pausedUntil > performance.now()).catch(() => undefined)
    expect(target.pausedUntil).toBeGreaterThan(performance.now())
  } finally {
    await redis.config('SET', 'maxmemory', '0')
  }
})

test('an endpoint that was away for long and answers on a full Redis is told each event once', async () => {
  const { lane, receiver, target, pump } = await listener()
  const running = pump()
  receiver.behave = answerWith(503)
  for (let round = 0; round < 3; round += 1) {
    const tries = receiver.all.length
    await happen(lane)
    target.pausedUntil = 0
    await until(running, 'a failure', () => receiver.all.length > tries)
  }
  const ids = await happen(lane)
  await lanes.redis.config('SET', 'maxmemory', '1')
  try {
    receiver.behave = take
    target.pausedUntil = 0
    await until(running, 'the event', () => receiver.taken.length > 0)
    for (let round = 0; round < 5; round += 1) await running.step(never).catch(() => undefined)
    expect(toldIds(receiver)).toEqual(ids)
  } finally {
    await lanes.redis.config('SET', 'maxmemory', '0')
  }
})
