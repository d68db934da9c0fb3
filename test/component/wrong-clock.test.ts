// Pins: Redis' clock says when a message is due, whatever the clock of the machine says that adds, takes or puts off its
// job, and wherever that clock jumps meanwhile. Real: Redis, BullMQ. The machine's clock is off as on one without a
// time service: `Date.now()` is, timers and `performance.now()` go on.
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { describeCampaign } from '../../src/campaigns/commands/describe.ts'
import { loadConfig } from '../../src/kernel/config.ts'
import { messageId } from '../../src/kernel/message-id.ts'
import { delayMessage } from '../../src/lanes/messages/claim.ts'
import { LETTERS } from '../../src/model/messages/lifecycle.ts'
import { FIRST_POLL_MS } from '../../src/model/messages/poll-schedule.ts'
import { cap, cappedUntil } from '../../src/portfolios/caps.ts'
import { keepHeldPlace } from '../../src/portfolios/held-places.ts'
import { checkProviderRules } from '../../src/portfolios/rules.ts'
import { createCampaign, findCampaign } from '../../src/recipients/campaigns.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import { startStatusPolls } from '../../src/worker/recovery/status-polls.ts'
import { silentLog } from '../support/app.ts'
import { claim } from '../support/claim.ts'
import { audioJob, audioMessage, type LaneRedis, LONG_TIMES, newId, startLaneRedis } from '../support/lane-redis.ts'
import { answering, anySender, lanesOf, sendingTo } from '../support/sending.ts'
import { relayClock } from '../support/state/accounts.ts'
import { dueOf, waitingOn } from '../support/state/lanes.ts'
import { campaignRecord, countsOf, messageRecord, nowOn } from '../support/state/messages.ts'
import { nowOfPolls, pollDueOf } from '../support/state/queues.ts'
import { eventually } from '../support/wait.ts'

const HOUR = 3_600_000
const SKEWS = [
  ['an hour ahead', HOUR],
  ['an hour behind', -HOUR],
  ['90 s behind', -90_000],
] as const
/** What is due runs within this time, on a machine however busy: far less than any of the clocks is off. */
const SOON_MS = 50_000
/** How long messages are put off here. */
const WAIT_MS = 500
/** A code after which the same message is tried again. */
const TRY_LATER = 131_016

let world: LaneRedis
beforeAll(async () => {
  world = await startLaneRedis()
})
afterAll(() => world?.close())
afterEach(() => {
  vi.restoreAllMocks()
})

const realNow = Date.now
function machineIsOff(ms: number): void {
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + ms)
}

/** A worker whose WhatsApp has a message put off for `firstWaitMs` the first time; when each was asked, by Redis. */
async function withWorker(
  lane: number,
  firstWaitMs: number | undefined,
  check: (began: Map<string, number[]>) => Promise<void>,
): Promise<void> {
  const { redis, queues } = world
  const began = new Map<string, number[]>()
  const provider = answering(async (_to, id) => {
    const runs = began.get(id) ?? []
    began.set(id, runs)
    runs.push(await nowOf(lane))
    if (firstWaitMs === undefined || runs.length > 1) return { kind: 'accepted', providerId: 'p' }
    return {
      ...{ kind: 'answered', status: 400, readable: true, code: TRY_LATER, subcode: undefined, text: undefined },
      retryAfterMs: firstWaitMs,
    }
  })
  const lanes = lanesOf(sendingTo({ redis, lanes: queues }, anySender(80), provider))
  lanes.wake(lane)
  try {
    await check(began)
  } finally {
    await lanes.stop(Promise.resolve(2_000))
  }
}

const nowOf = (lane: number): Promise<number> => nowOn(world.redis, lane)

describe.each(SKEWS)('with a machine whose clock is %s', (_how, skew) => {
  test('a cap and a hold last by the clock of Redis', async () => {
    const { redis } = world
    const owner = { lane: world.newLane() }
    machineIsOff(skew)
    const now = await nowOf(owner.lane)
    const until = await cap(redis, owner, '491511', { forMs: 60_000 })
    expect(Math.abs(until - now - 60_000)).toBeLessThan(SOON_MS)
    expect(await cappedUntil(redis, owner, [['491511']])).toEqual([until])
    await keepHeldPlace(redis, owner, 'held')
    const ask = { name: 'm1', names: ['491512'], isMarketing: true, isCampaign: true, opensConversation: false }
    const [capped, held] = await checkProviderRules(redis, owner, [{ ...ask, names: ['491511'] }, ask], { mostHeld: 1 })
    expect(capped).toMatchObject({ verdict: 'person_capped', untilMs: until })
    expect(held).toMatchObject({ verdict: 'held' })
    // What a worker waits for is told as a span, which no clock changes.
    expect(Math.abs((capped && 'waitMs' in capped ? capped.waitMs : 0) - 60_000)).toBeLessThan(SOON_MS)
  })

  test('a message with send_at is taken at its time by the clock of Redis', async () => {
    const lane = world.newLane()
    const sendAt = (await nowOf(lane)) + WAIT_MS
    const [id, first] = [messageId(lane, newId(lane).ulid), messageId(lane, newId(lane).ulid)]
    await world.queues.add(id, { ...audioJob(), sendAt })
    // The next one is taken by the step that finishes this one.
    await world.queues.add(first, audioJob())
    machineIsOff(skew)
    await withWorker(lane, undefined, async (began) => {
      const at = await eventually(async () => began.get(id)?.[0], 'its turn', 20_000)
      expect(at).toBeGreaterThanOrEqual(sendAt)
      expect(at).toBeLessThan(sendAt + SOON_MS)
    })
  })

  test('a message with send_at that the machine adds is due at its time', async () => {
    const lane = world.newLane()
    const sendAt = (await nowOf(lane)) + 60_000
    machineIsOff(skew)
    const id = newId(lane)
    await world.queues.add(messageId(lane, id.ulid), { ...audioJob(), sendAt })
    const due = await dueOf(world.redis, messageId(lane, id.ulid))
    expect(Math.floor(due ?? 0)).toBe(sendAt)
  })

  test('a message that the machine delays on its lane is due after the delay', async () => {
    const lane = world.newLane()
    const id = messageId(lane, newId(lane).ulid)
    machineIsOff(skew)
    const before = await nowOf(lane)
    await world.queues.add(id, audioJob(), 60_000)
    const due = (await dueOf(world.redis, id)) ?? 0
    expect(due).toBeGreaterThanOrEqual(before + 60_000)
    expect(due).toBeLessThan((await nowOf(lane)) + 60_001)
  })

  test('a job that the machine delays runs again after its delay, here and where the clock is right', async () => {
    for (const isMended of [false, true]) {
      const lane = world.newLane()
      const id = messageId(lane, newId(lane).ulid)
      // Valid by any of the clocks.
      await world.queues.add(id, audioJob(2 * HOUR))
      machineIsOff(skew)
      await withWorker(lane, WAIT_MS, async (began) => {
        await eventually(async () => (await dueOf(world.redis, id)) !== undefined, 'that it waits', 20_000)
        if (isMended) vi.restoreAllMocks()
        const [first = 0, again = 0] = await eventually(
          async () => (began.get(id)?.length === 2 ? began.get(id) : undefined),
          'its second run',
          20_000,
        )
        expect(again - first).toBeGreaterThanOrEqual(WAIT_MS)
        expect(again - first).toBeLessThan(WAIT_MS + SOON_MS)
      })
    }
  })
})

test.each(SKEWS)(
  'with a machine whose clock is %s the first poll of a message is a second away',
  async (_how, skew) => {
    const { redis } = world
    // Nobody else has its lanes, and without a sender nothing is polled.
    const polls = startStatusPolls({
      redis,
      config: loadConfig({}),
      log: silentLog,
      directory: { of: async () => undefined },
      queues: world.queues,
    })
    try {
      machineIsOff(skew)
      // Whoever stands still for that second finds the job taken up: then another lane is looked at.
      const { lane, before, due } = await eventually(
        async () => {
          const [lane, before] = [world.newLane(), await nowOfPolls(redis)]
          polls.follow(lane)
          while ((await nowOfPolls(redis)) < before + FIRST_POLL_MS) {
            const due = await pollDueOf(redis, lane)
            if (due !== undefined) return { lane, before, due }
          }
          return undefined
        },
        'its job',
        10_000,
      )
      expect(due).toBeGreaterThanOrEqual(before + FIRST_POLL_MS)
      expect(due).toBeLessThan((await nowOfPolls(redis)) + FIRST_POLL_MS + 1)
      // It is brought forward when it is late, by Redis' clock.
      polls.pickUp(lane)
      await eventually(async () => (await pollDueOf(redis, lane)) === undefined, 'that it is taken up', SOON_MS)
    } finally {
      await polls.stop(1_000)
    }
  },
)

test.each([
  ['ahead', HOUR],
  ['back', -HOUR],
])('a clock set %s while a worker waits makes it neither early nor late', async (_where, jump) => {
  const lane = world.newLane()
  const sendAt = (await nowOf(lane)) + 2 * WAIT_MS
  const id = messageId(lane, newId(lane).ulid)
  await world.queues.add(id, { ...audioJob(), sendAt })
  await withWorker(lane, undefined, async (began) => {
    await eventually(async () => (await nowOf(lane)) > sendAt - WAIT_MS, 'that it waits')
    machineIsOff(jump)
    const at = await eventually(async () => began.get(id)?.[0], 'its turn', 20_000)
    expect(at).toBeGreaterThanOrEqual(sendAt)
    expect(at).toBeLessThan(sendAt + SOON_MS)
  })
})

test('a worker whose clock is ahead queries Redis no more often than one with the right clock while nothing is due', async () => {
  const calls = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await world.redis.info('commandstats'))?.[1] ?? 0)
  const lane = world.newLane()
  await world.queues.add(messageId(lane, newId(lane).ulid), { ...audioJob(), sendAt: (await nowOf(lane)) + 60_000 })
  machineIsOff(HOUR)
  await withWorker(lane, undefined, async () => {
    const [before, until] = [await calls(), performance.now() + 1_000]
    let asked = 0
    await eventually(async () => {
      asked += 1
      return performance.now() > until
    }, 'a second')
    // Each look of this test is none of them.
    expect(asked).toBeGreaterThan(0)
    expect((await calls()) - before).toBeLessThan(30)
  })
})

test('a producer whose clock is an hour ahead shows the right speed of a campaign', async () => {
  const { redis } = world
  const lane = await world.addSender()
  const definition = {
    sender: 'x',
    template: { name: 'hi', language: { code: 'en' }, components: [] },
    recipients: { tags: [1], except: [] },
  }
  const id = await createCampaign(redis, { account: 1, lane, definition }, Date.now())
  const beat = await redisNowMs(redis)
  await campaignRecord(redis, { lane, number: id.number }).change({ state: 'running', total: 10, rate: 5, beat })
  await countsOf(redis, { lane, number: id.number }).change({ [LETTERS.sent]: 1 })
  machineIsOff(HOUR)
  const campaign = await findCampaign(redis, id)
  expect(campaign && (await describeCampaign(redis, campaign)).progress.rate_per_second).toBe(5)
})

test('a machine that was suspended, for which `performance.now()` stopped, gets the time from Redis', async () => {
  const nowMs = relayClock(world.redis)
  await nowMs()
  const before = await redisNowMs(world.redis)
  const steady = performance.now.bind(performance)
  // As if the wall clock, and Redis', had gone on for 5 s more.
  vi.spyOn(performance, 'now').mockImplementation(() => steady() - 5_000)
  machineIsOff(5_000)
  // Otherwise it would tell a time of before.
  expect(await nowMs()).toBeGreaterThanOrEqual(before - 1)
})

test('messages claimed when the clock of Redis was set back by a minute leave without waiting for it', async () => {
  const { redis, queues } = world
  const lane = world.newLane()
  const left = new Set<string>()
  let setBackAt: number | undefined
  const provider = answering(async (_to, id) => {
    // All are claimed, and most wait for their slots. What is claimed next hears the time again.
    const areAllClaimed = (await waitingOn(redis, lane)).length === 0
    if (areAllClaimed && setBackAt === undefined) {
      setBackAt = left.size
      const now = performance.now()
      deps.clock.observe(lane, now, (await nowOf(lane)) - 60_000, now)
    }
    left.add(id)
    return { kind: 'accepted', providerId: 'p' }
  })
  const deps = sendingTo({ redis, lanes: queues }, anySender(80), provider)
  const count = 15
  for (let i = 0; i < count; i += 1) await queues.add(messageId(lane, newId(lane).ulid), audioJob())
  const lanes = lanesOf(deps)
  lanes.wake(lane)
  await eventually(async () => left.size === count && lanes.inFlight() === 0, 'all have left', SOON_MS)
  expect(setBackAt).toBeLessThan(count - 1)
  await lanes.stop(Promise.resolve(2_000))
})

describe('a claim', () => {
  const claimOf = async (lane: number, sendAt: number, validMs = HOUR) => {
    const id = newId(lane)
    const message = { ...audioMessage, sendAt, validUntil: (await nowOf(lane)) + validMs }
    return { id, claimed: await claim(world.redis, id, 'AAAAAA', message, LONG_TIMES) }
  }

  test('of a message before its time returns how long to wait, and writes nothing', async () => {
    const lane = world.newLane()
    const { id, claimed } = await claimOf(lane, (await nowOf(lane)) + 60_000)
    expect(claimed).toMatchObject({ verdict: 'message_waits', state: 'queued' })
    const waitMs = 'waitMs' in claimed ? claimed.waitMs : 0
    expect(waitMs).toBeGreaterThan(50_000)
    expect(waitMs).toBeLessThanOrEqual(60_000)
    expect(await messageRecord(world.redis, id).isThere()).toBe(false)
  })

  test('waits for the later of send_at and its delay, and no longer than the validity', async () => {
    const lane = world.newLane()
    const now = await nowOf(lane)
    const id = newId(lane)
    await delayMessage(world.redis, id, 120_000)
    const message = { ...audioMessage, sendAt: now + 60_000, validUntil: now + HOUR }
    const late = await claim(world.redis, id, 'AAAAAA', message, LONG_TIMES)
    expect('waitMs' in late ? late.waitMs : 0).toBeGreaterThan(110_000)
    const { claimed } = await claimOf(lane, now + 60_000, 10_000)
    expect('waitMs' in claimed ? claimed.waitMs : HOUR).toBeLessThanOrEqual(10_000)
  })

  test('of a message whose time has come is granted', async () => {
    const lane = world.newLane()
    expect((await claimOf(lane, await nowOf(lane))).claimed).toMatchObject({ verdict: 'done', state: 'sending' })
  })
})
