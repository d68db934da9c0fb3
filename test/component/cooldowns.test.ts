// Pins: after a refusal for being too much, claims of the lane or of that recipient are refused in Redis, whichever worker makes
// them; one message at a time is let through after it; and nothing else notices. Real: Redis.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type MessageId, newAttemptId } from '../../src/kernel/message-id.ts'
import { coolForProbe, endProbing } from '../../src/lanes/cooldown.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { setNotSent } from '../../src/lanes/messages/steps.ts'
import { paceOf } from '../../src/model/messages/pace.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { claim } from '../support/claim.ts'
import { audioMessage, LONG_TIMES, newId, startLaneRedis } from '../support/lane-redis.ts'
import { cooldownOf, letRecipientWait, namesOnLane, recipientCooldownOf } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const SECOND = 1_000
const HOUR = 3_600 * SECOND
const ONE = '491700000001'
const ANOTHER = '491700000002'
/** Two clocks are compared: that of Redis counts whole milliseconds. */
const CLOCKS_MS = 10

/** What is left of a wait that began at `since` (performance.now) or a moment later, however busy the machine is. */
function expectLeft(leftMs: number, ofMs: number, since: number): void {
  expect(leftMs).toBeLessThanOrEqual(ofMs + CLOCKS_MS)
  expect(leftMs).toBeGreaterThanOrEqual(ofMs - (performance.now() - since) - CLOCKS_MS)
}

let redis: Redis
let newLane: () => number
let close: () => Promise<void>
beforeAll(async () => {
  ;({ redis, newLane, close } = await startLaneRedis())
})
afterAll(() => close?.())

function claimOf(id: MessageId, to: string, attempt = newAttemptId(), validMs = HOUR) {
  return claim(redis, id, attempt, { ...audioMessage, to, validUntil: Date.now() + validMs }, LONG_TIMES)
}

/** Claims a new message to the recipient and returns how it may be refused. */
async function underWay(lane: number, to: string) {
  const [id, attempt] = [newId(lane), newAttemptId()]
  expect(await claimOf(id, to, attempt)).toEqual({ verdict: 'done', state: 'sending' })
  const problem = { code: '131056', sentence: 'Too many.' }
  const refused = async (leastMs = 0) => {
    const cooldown = { of: 'recipient', person: to, leastMs } as const
    const result = await setNotSent(redis, id, attempt, { counts: false, maxTries: 1, problem, cooldown })
    return 'waitMs' in result ? (result.waitMs ?? -1) : -1
  }
  const throttled = (ms: number) =>
    setNotSent(redis, id, attempt, { counts: false, maxTries: 1, problem, cooldown: { of: 'lane', ms } })
  return { id, refused, throttled }
}

/** As if so much time had passed for a recipient. */
const later = (lane: number, to: string, ms: number) => letRecipientWait(redis, lane, to, ms)

describe('a recipient', () => {
  test('waits 4^X seconds, X from 0, at most about 68 minutes, and at least as long as asked', async () => {
    const lane = newLane()
    const waits: number[] = []
    for (let i = 0; i < 9; i += 1) {
      const wait = await (await underWay(lane, ONE)).refused()
      waits.push(wait)
      await later(lane, ONE, wait)
    }
    expect(waits).toEqual([1, 4, 16, 64, 256, 1_024, 4_096, 4_096, 4_096].map((seconds) => seconds * SECOND))
    expect(await (await underWay(lane, ANOTHER)).refused(90 * SECOND)).toBe(90 * SECOND)
  })

  test('is refused to every claim during its cooldown, without using a try or leaving a trace; others are not', async () => {
    const lane = newLane()
    const first = await underWay(lane, ONE)
    expect(await first.refused(30 * SECOND)).toBe(30 * SECOND)
    const id = newId(lane)
    const names = await namesOnLane(redis, lane)
    expect(await claimOf(id, ONE)).toMatchObject({ verdict: 'recipient_cooldown', state: 'queued' })
    expect(await namesOnLane(redis, lane)).toEqual(names)
    expect(await readMessage(redis, id)).toBeUndefined()
    expect(await claimOf(first.id, ONE)).toMatchObject({ verdict: 'recipient_cooldown' })
    expect(await readMessage(redis, first.id)).toMatchObject({ state: 'queued', tries: 0 })
    expect(await claimOf(newId(lane), ANOTHER)).toMatchObject({ verdict: 'done' })
    expect(await claimOf(newId(newLane()), ONE)).toMatchObject({ verdict: 'done' })
  })

  test('has one cooldown for a burst of messages sent together', async () => {
    const lane = newLane()
    const burst = await Promise.all(Array.from({ length: 20 }, () => underWay(lane, ONE)))
    const since = performance.now()
    // One rest, and then a turn each, 6 s apart.
    for (const [i, each] of burst.entries()) {
      expectLeft(await each.refused(30 * SECOND), 30 * SECOND + i * 6 * SECOND, since)
    }
    await later(lane, ONE, 30 * SECOND)
    expect(await (await underWay(lane, ONE)).refused()).toBe(4 * SECOND)
  })

  test('gets one message at a time after its cooldown, each in its turn', async () => {
    const lane = newLane()
    const burst = await Promise.all(Array.from({ length: 3 }, () => underWay(lane, ONE)))
    const since = performance.now()
    for (const each of burst) await each.refused(30 * SECOND)
    await later(lane, ONE, 30 * SECOND)
    expect(await claimOf(burst[0]?.id ?? newId(lane), ONE)).toMatchObject({ verdict: 'done' })
    // Two others have their turns already.
    const fresh = await claimOf(newId(lane), ONE)
    expect(fresh).toMatchObject({ verdict: 'recipient_cooldown' })
    if ('waitMs' in fresh) expectLeft(fresh.waitMs, 18 * SECOND, since)
    await later(lane, ONE, 6 * SECOND)
    expect(await claimOf(burst[1]?.id ?? newId(lane), ONE)).toMatchObject({ verdict: 'done' })
    await later(lane, ONE, 6 * SECOND)
    expect(await claimOf(burst[2]?.id ?? newId(lane), ONE)).toMatchObject({ verdict: 'done' })
  })

  test('refuses a message that comes a moment early or cannot be sent in time, without giving it a turn', async () => {
    // Once more, on another lane, where the machine was so slow that the moment was over.
    const { early, before, after } = await eventually(async () => {
      const lane = newLane()
      const refused = await underWay(lane, ONE)
      const since = performance.now()
      await refused.refused(30 * SECOND)
      expect(await claimOf(newId(lane), ONE, undefined, 5 * SECOND)).toMatchObject({ verdict: 'recipient_cooldown' })
      await later(lane, ONE, 29_500)
      const cooldown = recipientCooldownOf(redis, lane, ONE)
      const [before, early, after] = [await cooldown.value(), await claimOf(newId(lane), ONE), await cooldown.value()]
      return performance.now() - since < 490 && { early, before, after }
    }, 'a claim that is early by a moment')
    expect('waitMs' in early && early.waitMs).toBeLessThanOrEqual(500)
    expect(after).toBe(before)
  })

  test('that is no longer refused is forgotten', async () => {
    const lane = newLane()
    const since = performance.now()
    await (await underWay(lane, ONE)).refused()
    const ttl = await recipientCooldownOf(redis, lane, ONE).livesMs()
    expect(ttl).toBeGreaterThan(60 * SECOND - (performance.now() - since))
    expect(ttl).toBeLessThanOrEqual(62 * SECOND)
  })
})

test('a message past its validity expires whether or not its recipient is in cooldown', async () => {
  const lane = newLane()
  await (await underWay(lane, ONE)).refused(30 * SECOND)
  await (await underWay(lane, ANOTHER)).throttled(30 * SECOND)
  expect(await claimOf(newId(lane), ONE, undefined, -1)).toEqual({ verdict: 'done', state: 'expired' })
})

describe('a lane', () => {
  test('begins with the step that proves a message throttled, for all its claims and no others', async () => {
    const lane = newLane()
    const since = performance.now()
    await (await underWay(lane, ONE)).throttled(30 * SECOND)
    const id = newId(lane)
    const refused = await claimOf(id, ANOTHER)
    expect(refused).toMatchObject({ verdict: 'lane_cooldown', state: 'queued' })
    if ('waitMs' in refused) expectLeft(refused.waitMs, 30 * SECOND, since)
    expect(await readMessage(redis, id)).toBeUndefined()
    expect(await claimOf(newId(newLane()), ONE)).toMatchObject({ verdict: 'done' })
  })

  test('keeps the longest of its cooldowns, in whatever order they come', async () => {
    const lane = newLane()
    const burst = await Promise.all([1, 2, 3].map(() => underWay(lane, ONE)))
    const since = performance.now()
    for (const [i, seconds] of [5, 30, 1].entries()) await burst[i]?.throttled(seconds * SECOND)
    expectLeft(await cooldownOf(redis, lane).livesMs(), 30 * SECOND, since)
    expect(await claimOf(newId(lane), ONE)).toMatchObject({ verdict: 'lane_cooldown' })
  })

  test('accepts a shortest cooldown of less than a millisecond', async () => {
    const lane = newLane()
    expect(await (await underWay(lane, ONE)).throttled(0)).toMatchObject({ verdict: 'done', state: 'queued' })
  })
})

describe('a lane that is probed', () => {
  const page = { code: 'http_403', sentence: 'The provider answered 403.' }
  /** Longer than the tests take on any machine. */
  const FIRST = 600 * SECOND
  const cool = (lane: number, isProbe = false) =>
    coolForProbe(redis, lane, { firstMs: FIRST, mostMs: 3 * FIRST, isProbe }, page)
  const asked = (lane: number) => {
    const message = { ...audioMessage, to: ONE, validUntil: Date.now() + HOUR }
    return claim(redis, newId(lane), newAttemptId(), message, LONG_TIMES, paceOf(100_000))
  }
  /** As if its cooldown were over. */
  const over = (lane: number) => cooldownOf(redis, lane).remove()

  test('lets one message go after its cooldown, whichever worker asks, and all once that is answered', async () => {
    const lane = newLane()
    expect((await cool(lane)).isNew).toBe(true)
    expect(await asked(lane)).toMatchObject({ verdict: 'lane_cooldown' })
    await over(lane)
    const claims = await Promise.all(Array.from({ length: 20 }, () => asked(lane)))
    const gone = claims.filter(({ verdict }) => verdict === 'done')
    expect(gone).toMatchObject([{ isProbe: true }])
    // The others ask again soon, although the probe may take as long as a request.
    for (const each of claims) if ('waitMs' in each) expect(each.waitMs).toBeLessThanOrEqual(SECOND)
    expect(await cooldownOf(redis, lane).livesMs()).toBeGreaterThan(SECOND)
    await endProbing(redis, lane)
    for (const each of await Promise.all([asked(lane), asked(lane)]))
      expect([each.verdict, 'isProbe' in each && each.isProbe]).toEqual(['done', false])
  })

  test('waits twice as long after each probe that fails, up to a limit, and not again for the same burst', async () => {
    const lane = newLane()
    expect(await cool(lane)).toEqual({ ms: FIRST, isNew: true })
    const again = await cool(lane)
    expect([again.isNew, again.ms <= FIRST]).toEqual([false, true])
    expect([await cool(lane, true), await cool(lane, true), await cool(lane, true)]).toEqual([
      { ms: 2 * FIRST, isNew: true },
      { ms: 3 * FIRST, isNew: true },
      { ms: 3 * FIRST, isNew: true },
    ])
    await endProbing(redis, lane)
    expect(await cool(lane)).toEqual({ ms: FIRST, isNew: true })
  })

  test('lets the next one go when the probe is never answered', async () => {
    const lane = newLane()
    await cool(lane)
    await over(lane)
    expect(await asked(lane)).toMatchObject({ isProbe: true })
    await over(lane)
    expect([await asked(lane), await asked(lane)]).toMatchObject([{ isProbe: true }, { verdict: 'lane_cooldown' }])
  })
})
