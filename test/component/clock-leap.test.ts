// Pins: a clock of Redis that leaps by days takes nothing away: no message expires or leaves, no attempt is taken for lost, no
// budget or cap ends, before it is back, a person trusts it, or an hour is over. Real: Redis, the worker's lanes. The leap is
// played from the other side: this machine seems to have been up for less than Redis says has passed.
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { messageId } from '../../src/kernel/message-id.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { checkProviderRules } from '../../src/portfolios/rules.ts'
import { redisNowMs, trustedRedisNowMs } from '../../src/redis/clock.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { isRedisAway } from '../../src/redis/errors.ts'
import { rememberKey } from '../../src/redis/idempotency.ts'
import { redisProblems, redisSettings } from '../../src/redis/safety.ts'
import { checkClock, clockOffMs, DOUBT_MS, trustClock } from '../../src/redis/trusted-clock.ts'
import { keptLog, silentLog } from '../support/app.ts'
import { claim } from '../support/claim.ts'
import { audioJob, audioMessage, type LaneRedis, LONG_TIMES, newId, startLaneRedis } from '../support/lane-redis.ts'
import { answering, anySender, lanesOf, sendingTo } from '../support/sending.ts'
import { clockDoubtEndsInMs, leaveClockDoubt } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'

const DAY_MS = 86_400_000
const UP_MS = 100 * DAY_MS

let world: LaneRedis
beforeAll(async () => {
  world = await startLaneRedis()
})
afterAll(() => world?.close())
afterEach(async () => {
  vi.restoreAllMocks()
  await look(0)
  await trustClock(world.redis)
  await look(0)
})

/** A look of a part at the clocks, when Redis' clock has gone ahead of its machine by so much. */
const look = (aheadMs: number, log = silentLog, redis: Redis = world.redis) =>
  checkClock(redis, log, () => UP_MS - aheadMs)

const asleep = (redis: Redis): Promise<unknown> => trustedRedisNowMs(redis).catch((error: unknown) => error)

/** A message that is over by the clock of Redis, and would not be if that clock had not leapt. */
async function addMessage(lane: number) {
  const id = newId(lane)
  const now = await redisNowMs(world.redis)
  await world.queues.add(messageId(lane, id.ulid), { ...audioJob(), until: now - 60_000 })
  return id
}

/** Serves a lane until the work is done; what was sent. */
async function serving(lane: number, work: (sent: string[]) => Promise<void>): Promise<void> {
  const sent: string[] = []
  const provider = answering(async (_to, id) => {
    sent.push(id)
    return { kind: 'accepted', providerId: 'p' }
  })
  const lanes = lanesOf(sendingTo({ redis: world.redis, lanes: world.queues }, anySender(80), provider))
  lanes.wake(lane)
  try {
    await work(sent)
  } finally {
    await lanes.stop(Promise.resolve(2_000))
  }
}

describe.each([
  ['ahead by 30 days', 30 * DAY_MS],
  ['back by 30 days', -30 * DAY_MS],
  ['ahead by 3 hours', 3 * 3_600_000],
])('a clock that leaps %s', (_how, leapMs) => {
  test('is noticed, logged once, shown, and trusted again when it is back', async () => {
    const { log, lines } = keptLog()
    await look(0, log)
    await look(leapMs, log)
    await look(leapMs, log)
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ level: 50, msg: 'redis.clock_leapt', by_seconds: expect.any(Number) }),
    ])
    expect(Math.abs(clockOffMs(world.redis) - leapMs)).toBeLessThan(60_000)
    expect((await redisProblems(world.redis)).join()).toContain('The clock of Redis has leapt')
    expect(await redisSettings(world.redis)).toContainEqual(expect.objectContaining({ name: 'clock', ok: false }))
    expect(isRedisAway(await asleep(world.redis))).toBe(true)

    await look(0, log)
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['redis.clock_leapt', 'redis.clock_back'])
    expect(await asleep(world.redis)).toEqual(expect.any(Number))
    expect(await redisProblems(world.redis)).toEqual([])
  })
})

test.each([3_600_000, -3_600_000])('a clock that is set by %i ms is trusted at once', async (ms) => {
  const { log, lines } = keptLog()
  await look(0, log)
  await look(ms, log)
  expect(lines).toEqual([])
  expect(await asleep(world.redis)).toEqual(expect.any(Number))
})

test('a waiting message neither expires nor leaves, and expires once a person trusts the clock', async () => {
  const lane = world.newLane()
  await look(0)
  await look(30 * DAY_MS)
  const id = await addMessage(lane)
  await serving(lane, async (sent) => {
    // The worker asks for it again and again, and each time the answer is the word of Redis.
    const refused = async () =>
      Number(/errorstat_CLOCK:count=(\d+)/.exec(await world.redis.info('errorstats'))?.[1] ?? 0)
    const before = await refused()
    await eventually(async () => (await refused()) > before, 'it was asked for')
    expect(await readMessage(world.redis, id)).toBeUndefined()
    expect(await trustClock(world.redis)).toHaveLength(1)
    await look(30 * DAY_MS)
    await eventually(async () => (await readMessage(world.redis, id))?.state === 'expired', 'it is over', 20_000)
    expect(sent).toEqual([])
  })
})

test('an Idempotency-Key whose message may have been forgotten too soon makes no new one until the clock is trusted', async () => {
  const use = { account: 7, route: 'template', key: 'order-1', digest: 'd' }
  const later = { ...use, key: 'order-2' }
  await look(0)
  expect(await rememberKey(world.redis, use, 'first')).toBe('first')
  await look(9 * DAY_MS)
  expect(await rememberKey(world.redis, use, 'second')).toBe('first')
  expect(isRedisAway(await rememberKey(world.redis, later, 'second').catch((error: unknown) => error))).toBe(true)

  // None that is promised can be forgotten by a small leap, or by one back.
  for (const harmlessMs of [0, 6 * 3_600_000, 0, -9 * DAY_MS]) {
    await look(harmlessMs)
    expect(await rememberKey(world.redis, { ...later, key: `order ${harmlessMs}` }, 'third')).toBe('third')
  }
  await look(0)
  await look(9 * DAY_MS)
  await trustClock(world.redis)
  await look(9 * DAY_MS)
  expect(await rememberKey(world.redis, later, 'second')).toBe('second')
})

test('a waiting message leaves once the clock is back', async () => {
  const lane = world.newLane()
  await look(0)
  await look(30 * DAY_MS)
  const id = newId(lane)
  await world.queues.add(messageId(lane, id.ulid), audioJob())
  await serving(lane, async (sent) => {
    await look(0)
    await eventually(async () => sent.length === 1, 'it was sent', 20_000)
  })
})

test('a step before the first check of the clock is refused as well', async () => {
  await look(0)
  const steady = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => steady() - 30 * DAY_MS)
  const id = newId(world.newLane())
  const message = { ...audioMessage, validUntil: 0 }
  const error = await claim(world.redis, id, 'AAAAAA', message, LONG_TIMES).catch((thrown: unknown) => thrown)
  expect(isRedisAway(error), String(error)).toBe(true)
  expect(await readMessage(world.redis, id)).toBeUndefined()
})

test('a budget or a cap that ended only by such a clock lets nobody through', async () => {
  await look(0)
  await look(30 * DAY_MS)
  const ask = { name: 'm1', names: ['491512'], isMarketing: true, isCampaign: true, opensConversation: false }
  const error = await checkProviderRules(world.redis, { lane: 1 }, [ask], { mostHeld: 1 }).catch(
    (thrown: unknown) => thrown,
  )
  expect(isRedisAway(error), String(error)).toBe(true)
})

test('the leap and its end are logged once, however many processes notice', async () => {
  const { log, lines } = keptLog()
  const other = connectWithRetry(world.server.url)
  for (const aheadMs of [0, 30 * DAY_MS, 30 * DAY_MS, 0, 0]) {
    await look(aheadMs, log)
    await look(aheadMs, log, other)
  }
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['redis.clock_leapt', 'redis.clock_back'])
  expect([await asleep(world.redis), await asleep(other)]).toEqual([expect.any(Number), expect.any(Number)])
  other.disconnect()
})

test('a clock that leaps and is set right while no Laneway runs is trusted by whatever starts then', async () => {
  await leaveClockDoubt(world.redis, 30 * DAY_MS, 30 * DAY_MS)
  const started = connectWithRetry(world.server.url)
  await look(0, silentLog, started)
  expect(clockOffMs(started)).toBe(0)
  expect(await asleep(started)).toEqual(expect.any(Number))
  expect(await clockDoubtEndsInMs(world.redis)).toBeLessThan(0)
  started.disconnect()
})

test('a clock that was set back by part of its leap stays in doubt by the rest, for an hour at most', async () => {
  await leaveClockDoubt(world.redis, 30 * DAY_MS, DAY_MS)
  const started = connectWithRetry(world.server.url)
  await look(0, silentLog, started)
  expect(Math.abs(clockOffMs(started) - 29 * DAY_MS)).toBeLessThan(60_000)
  expect(await clockDoubtEndsInMs(world.redis)).toBeLessThanOrEqual(DOUBT_MS)
  expect(isRedisAway(await asleep(started))).toBe(true)
  started.disconnect()
})

test('the doubt ends by itself after an hour, and a process that starts meanwhile shares it', async () => {
  await look(0)
  await look(30 * DAY_MS)
  expect(await clockDoubtEndsInMs(world.redis)).toBeGreaterThan(DOUBT_MS - 60_000)
  expect(await clockDoubtEndsInMs(world.redis)).toBeLessThanOrEqual(DOUBT_MS)

  const started = connectWithRetry(world.server.url)
  await look(30 * DAY_MS, silentLog, started)
  expect(isRedisAway(await asleep(started))).toBe(true)
  // As after the hour.
  await trustClock(world.redis)
  await look(30 * DAY_MS, silentLog, started)
  expect(await asleep(started)).toEqual(expect.any(Number))
  started.disconnect()
})
