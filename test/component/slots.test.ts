// Pins: claims give out slots a gap apart, to what leaves and to nothing else, and a request that missed its slot gets
// another one. Real: Redis. The clock is Redis' own, so that times are compared with room for a busy machine.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deadlineIn } from '../../src/kernel/deadline.ts'
import { type MessageId, newAttemptId } from '../../src/kernel/message-id.ts'
import {
  type ClaimResult,
  delayMessage,
  reserveSlots,
  type Slot,
  type SlotTerms,
} from '../../src/lanes/messages/claim.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { MISSED_SLOT } from '../../src/model/messages/outcome.ts'
import { ALONE_MS, type Pace, paceOf } from '../../src/model/messages/pace.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import type { SendDeps } from '../../src/worker/sending/attempt.ts'
import { Candidate } from '../../src/worker/sending/candidate.ts'
import { createRedisClock } from '../../src/worker/sending/redis-clock.ts'
import type { DirectoryEntry } from '../../src/worker/sending/sender-directory.ts'
import { awaitedSlots } from '../support/awaited-slots.ts'
import { claim } from '../support/claim.ts'
import { audioJob, audioMessage, LONG_TIMES, newId, startLaneRedis } from '../support/lane-redis.ts'
import { anySender, attemptsOn, sendingTo } from '../support/sending.ts'
import { cooldownOf, slotsOf } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const HOUR = 3_600_000
/** A lane so slow that the machine cannot blur it: a slot every half second, which may be claimed a minute ahead. */
const SLOW: Pace = {
  gapUs: 500_000,
  closestUs: 500_000,
  window: 1,
  aheadUs: { transactional: 60_000_000, campaign: 1_000_000 },
  lateMs: 50,
  limits: [],
}
const GAP_MS = 500
/** A slot a minute: the next one is ahead however long the machine stands still. */
const SLOWEST: Pace = {
  ...SLOW,
  ...{ gapUs: 60_000_000, closestUs: 60_000_000 },
  aheadUs: { transactional: HOUR * 1_000, campaign: 1_000 },
}
/** Only what is due within a moment is claimed. */
const NEXT = { transactional: 100_000, campaign: 100_000 }
const NEVER = deadlineIn(Number.POSITIVE_INFINITY)

let redis: Redis
let url: string
let newLane: () => number
let close: () => Promise<void>
beforeAll(async () => {
  const world = await startLaneRedis()
  ;({ redis, newLane, close } = world)
  url = world.server.url
})
afterAll(() => close?.())

async function claimOn(
  lane: number,
  more: { pace?: Pace; slots?: SlotTerms; id?: MessageId; validMs?: number; class?: 'transactional' | 'campaign' } = {},
): Promise<ClaimResult> {
  const { pace = SLOW, slots, id = newId(lane), validMs = HOUR, class: of = 'transactional' } = more
  const message = { ...audioMessage, class: of, validUntil: (await redisNowMs(redis)) + validMs }
  return claim(redis, id, newAttemptId(), message, { ...LONG_TIMES, ...(slots && { slots }) }, pace)
}

const latest = (lane: number): Promise<string[]> => slotsOf(redis, lane).all()

async function slotOn(lane: number, pace = SLOW, slots?: SlotTerms): Promise<Slot> {
  const claimed = await claimOn(lane, { pace, ...(slots && { slots }) })
  if (!('slot' in claimed) || claimed.slot === undefined) throw new Error(`no slot: ${JSON.stringify(claimed)}`)
  return claimed.slot
}

/** When the slot after that one is due: a gap later, or at once where that has passed. By Redis' clock, so that no pause matters. */
const dueAfter = (before: Slot, { nowMs }: Slot, gapMs = GAP_MS): number => Math.max(before.atMs + gapMs, nowMs)

describe('a claim', () => {
  test('gives out slots a gap apart, the first of them now', async () => {
    const lane = newLane()
    const [first, second, third] = [await slotOn(lane), await slotOn(lane), await slotOn(lane)]
    expect(first.atMs - first.nowMs).toBeLessThanOrEqual(0)
    expect(second.atMs).toBeCloseTo(dueAfter(first, second), 0)
    expect(third.atMs).toBeCloseTo(dueAfter(second, third), 0)
    // Another lane has slots of its own.
    const other = await slotOn(newLane())
    expect(other.atMs - other.nowMs).toBeLessThanOrEqual(0)
  })

  test('is refused when its slot is too far ahead, without a trace; a transactional message may have it', async () => {
    const lane = newLane()
    await slotOn(lane, SLOWEST)
    const last = await latest(lane)
    const id = newId(lane)
    const refused = await claimOn(lane, { id, class: 'campaign', pace: SLOWEST })
    expect(refused).toMatchObject({ verdict: 'too_early', state: 'queued' })
    if (refused.verdict === 'too_early') expect(refused.waitMs).toBeGreaterThan(0)
    expect(await latest(lane)).toEqual(last)
    expect(await claimOn(lane, { id, pace: SLOWEST })).toMatchObject({ verdict: 'done', state: 'sending' })
  })

  test('for a message that does not leave uses no slot', async () => {
    const lane = newLane()
    await slotOn(lane, SLOWEST)
    const last = await latest(lane)
    expect(await claimOn(lane, { validMs: -1 })).toEqual({ verdict: 'done', state: 'expired' })
    const waiting = newId(lane)
    await delayMessage(redis, waiting, HOUR)
    expect(await claimOn(lane, { id: waiting })).toMatchObject({ verdict: 'message_waits', state: 'queued' })
    await cooldownOf(redis, lane).put((await redisNowMs(redis)) + HOUR)
    expect(await claimOn(lane)).toMatchObject({ verdict: 'lane_cooldown' })
    expect(await latest(lane)).toEqual(last)
  })

  test('goes on at once when the clock of Redis was set back', async () => {
    const lane = newLane()
    await slotsOf(redis, lane).takeUntil((await redisNowMs(redis)) + HOUR)
    const slot = await slotOn(lane)
    expect(slot.atMs).toBeLessThanOrEqual(slot.nowMs)
  })

  test('on a lane whose rate has changed uses the new rate', async () => {
    const lane = newLane()
    const slow = { ...SLOW, gapUs: 60_000_000, closestUs: 60_000_000 }
    await claimOn(lane, { pace: slow })
    const claimed = await claimOn(lane, { pace: { ...SLOW, gapUs: 1_000, closestUs: 1_000 } })
    const slot = 'slot' in claimed ? claimed.slot : undefined
    expect((slot?.atMs ?? HOUR) - (slot?.nowMs ?? 0)).toBeLessThanOrEqual(1)
  })

  test('leaves no state behind on an idle lane', async () => {
    const lane = newLane()
    await slotOn(lane)
    expect(await slotsOf(redis, lane).livesMs()).toBeLessThanOrEqual(1_500)
  })
})

describe('a request that missed its slot', () => {
  test('leaves at once when the next slot is free, and all later slots move', async () => {
    const lane = newLane()
    const missed = await slotOn(lane)
    await eventually(async () => (await redisNowMs(redis)) > missed.atMs + 100, 'the slot is over')
    const [again] = await reserveSlots(redis, lane, [missed], { pace: SLOW, mostAheadMs: 2_000 })
    if (again === undefined) throw new Error('no other slot')
    expect(again.atMs - again.nowMs).toBeLessThanOrEqual(0)
    const next = await slotOn(lane)
    expect(next.atMs).toBeCloseTo(dueAfter(again, next), 0)
  })

  test('gets the slot after all reserved ones, and none that is too far ahead', async () => {
    const lane = newLane()
    // As far ahead as slots may be, 5 s, so that the next one is still ahead after a standstill.
    const pace = { ...SLOW, gapUs: 1_600_000, closestUs: 1_600_000 }
    const [missed, , last] = [await slotOn(lane, pace), await slotOn(lane, pace), await slotOn(lane, pace)]
    const [again] = await reserveSlots(redis, lane, [missed], { pace, mostAheadMs: 60_000 })
    if (again === undefined) throw new Error('no other slot')
    expect(again.atMs).toBeCloseTo(dueAfter(last, again, 1_600), 0)
    const before = await latest(lane)
    expect(await reserveSlots(redis, lane, [missed], { pace, mostAheadMs: 10 })).toEqual([])
    expect(await latest(lane)).toEqual(before)
  })

  test('leaves room for another one in its window', async () => {
    const lane = newLane()
    const pace = { ...SLOW, gapUs: 1_200_000, closestUs: 100_000, window: 4 }
    const slots: Slot[] = []
    for (let n = 0; n < 4; n += 1) slots.push(await slotOn(lane, pace))
    const [, missed, , last] = slots
    if (!missed || !last) throw new Error('no slots')
    const again = (await reserveSlots(redis, lane, [missed], { pace, mostAheadMs: 60_000 }))[0]
    expect(await latest(lane)).toEqual([again, last, slots[2], slots[0]].map((slot) => slot?.name))
  })
})

describe('a worker that serves a lane alone', () => {
  /** Slots of a window are remembered for as long as it is: here for ten seconds, so that a standstill forgets none. */
  const pace = { ...SLOW, gapUs: 20_000, closestUs: 20_000, window: 500 }

  test('may use slots that have passed since its latest one, as many as it asks for', async () => {
    const lane = newLane()
    const first = await slotOn(lane, pace)
    await eventually(async () => (await redisNowMs(redis)) > first.atMs + 100, 'slots have passed')
    const late = await slotOn(lane, pace, { latest: first.name, pastMs: 60_000 })
    expect(late.atMs - first.atMs).toBeCloseTo(20, 0)
    const nearly = await slotOn(lane, pace, { latest: late.name, pastMs: 30 })
    expect(nearly.nowMs - nearly.atMs).toBeCloseTo(30, 0)
    expect([late.isShared, nearly.isShared]).toEqual([false, false])
  })

  test('may use no passed slots once another worker has reserved one, and the answer reports it', async () => {
    const lane = newLane()
    const [first, others] = [await slotOn(lane, pace), await slotOn(lane, pace)]
    await eventually(async () => (await redisNowMs(redis)) > others.atMs + 100, 'slots have passed')
    const slot = await slotOn(lane, pace, { latest: first.name, pastMs: 60_000 })
    expect(slot.isShared).toBe(true)
    expect(slot.atMs).toBeGreaterThanOrEqual(slot.nowMs)
    expect((await slotOn(lane, pace, { latest: slot.name, pastMs: 0 })).isShared).toBe(false)
  })

  test('is not disturbed by another worker while its late messages leave, and uses no more passed slots after that', async () => {
    // Once more where the machine let that time pass.
    const { lane, late, refused } = await eventually(async () => {
      const lane = newLane()
      const first = await slotOn(lane, pace)
      await eventually(async () => (await redisNowMs(redis)) > first.atMs + 100, 'slots have passed')
      const late = await slotOn(lane, pace, { latest: first.name, pastMs: 60_000 })
      const refused = await claimOn(lane, { pace: { ...pace, aheadUs: NEXT } })
      return (await redisNowMs(redis)) < late.nowMs + ALONE_MS && { lane, late, refused }
    }, 'another one that comes in time')
    expect(refused).toMatchObject({ verdict: 'too_early' })
    const own = await slotOn(lane, pace, { latest: late.name, pastMs: 60_000 })
    expect([own.isShared, own.atMs >= own.nowMs]).toEqual([true, true])
    expect((await slotOn(lane, pace)).atMs).toBeGreaterThanOrEqual(late.nowMs + ALONE_MS - 1)
  })
})

describe('a worker', () => {
  const soon: Pace = { ...paceOf(80), gapUs: 100_000, closestUs: 100_000, lateMs: 50 }

  async function claimsOf(lane: number, count: number) {
    const clock = createRedisClock()
    const claimed: Slot[] = []
    for (let i = 0; i < count; i += 1) {
      const askedAt = performance.now()
      const slot = await slotOn(lane, { ...soon, aheadUs: SLOW.aheadUs })
      clock.observe(lane, askedAt, slot.nowMs, performance.now())
      claimed.push(slot)
    }
    /** How many slots were exchanged in each step. */
    const exchanged: number[] = []
    const { wait } = awaitedSlots(
      {
        clock,
        others: async (missed, pace) => {
          exchanged.push(missed.length)
          const found = await reserveSlots(redis, lane, missed, { pace, mostAheadMs: 2_000 })
          for (const { nowMs } of found) clock.observe(lane, performance.now(), nowMs, performance.now())
          return found
        },
        checkAgain: () => Promise.reject(new Error('nobody need be asked')),
      },
      lane,
    )
    return { claimed, wait, clock, exchanged }
  }

  const waiting = { isTransactional: true, until: deadlineIn(HOUR), wantedUntil: NEVER }

  test('that shares its lane and stalled spreads its claims over new slots, which it gets in one step', async () => {
    const lane = newLane()
    const { claimed, wait, clock, exchanged } = await claimsOf(lane, 4)
    const leaving = claimed.map(async (slot) => {
      const { slot: used } = await wait(waiting, { ...slot, isShared: true }, soon)
      if (used === undefined) throw new Error('it may not leave')
      return { used, earlyMs: clock.ours(lane, used.atMs) - performance.now() }
    })
    // The whole process stands still, as under SIGSTOP.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
    const turns = await Promise.all(leaving)
    // None left before its slot, none in a slot that it had claimed, and all slots are a gap apart.
    for (const { earlyMs } of turns) expect(earlyMs).toBeLessThan(1)
    const names = claimed.map(({ name }) => name)
    expect(turns.filter(({ used }) => names.includes(used.name))).toEqual([])
    const atMs = turns.map(({ used }) => used.atMs).sort((a, b) => a - b)
    for (const [i, at] of atMs.slice(1).entries()) expect(at - (atMs[i] ?? 0)).toBeGreaterThan(99)
    // All four in one step. A busy machine may miss one of the new ones again.
    expect(exchanged[0]).toBe(4)
  })

  test('that is alone and stalled sends its claims at once', async () => {
    const lane = newLane()
    const { claimed, wait, exchanged } = await claimsOf(lane, 4)
    const leaving = claimed.map((slot) => wait(waiting, { ...slot, isShared: false }, soon))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
    expect((await Promise.all(leaving)).map(({ slot }) => slot?.name)).toEqual(claimed.map(({ name }) => name))
    expect(exchanged).toEqual([])
  })

  test('without Redis gets no other slot, and lets nothing leave', async () => {
    const lane = newLane()
    const { claimed } = await claimsOf(lane, 1)
    const away = connectWithRetry(url)
    away.on('error', () => undefined)
    away.disconnect()
    const { wait } = awaitedSlots(
      {
        clock: { ours: () => performance.now() - 1_000 },
        others: (missed, pace) => reserveSlots(away, lane, missed, { pace, mostAheadMs: 2_000 }),
        checkAgain: () => Promise.reject(new Error('nobody need be asked')),
      },
      lane,
    )
    const [slot] = claimed
    if (slot === undefined) throw new Error('no slot')
    expect(await wait(waiting, { ...slot, isShared: true }, soon)).toEqual({})
  })
})

describe('a request that cannot leave in its slot, because its connection opens too late', () => {
  async function claimedOn(deps: SendDeps, lane: number, isShared = false): Promise<Candidate> {
    const slot = await slotOn(lane)
    const entry = await deps.directory.of(lane)
    if (entry === undefined) throw new Error('no sender')
    const message = new Candidate({
      ...{ id: newId(lane), name: 'a', message: { ...audioMessage, validUntil: Date.now() + HOUR } },
      content: { type: 'audio', audio: { link: '' } },
      ...{ waitsAs: 'job', payload: () => audioJob() },
    })
    message.begin(entry)
    message.attempt = newAttemptId()
    message.slot = { ...slot, isShared }
    message.until = deadlineIn(60_000)
    message.wantedUntil = NEVER
    deps.clock.observe(lane, performance.now(), slot.nowMs, performance.now())
    return message
  }

  /** A worker whose messages go to `send`. */
  async function withWorker<T>(
    send: DirectoryEntry['provider']['send'],
    act: (deps: SendDeps) => Promise<T>,
  ): Promise<T> {
    const queues = openLaneQueues(redis)
    return act(sendingTo({ redis, lanes: queues }, anySender(80), { send })).finally(() => queues.close())
  }

  /** How often the provider was asked to send, each time missing the slot until it has been so often; and what then. */
  async function sendOn(lane: number, misses: number) {
    const asked: (number | undefined)[] = []
    const send: DirectoryEntry['provider']['send'] = async (_sender, _message, _timeoutMs, departure) => {
      asked.push(departure?.leaveBy)
      return asked.length <= misses ? { kind: 'never_left', cause: MISSED_SLOT } : { kind: 'accepted', providerId: 'p' }
    }
    const heldUntil = await withWorker(send, async (deps) => {
      const attempts = attemptsOn(deps, lane)
      await attempts.send(await claimedOn(deps, lane), SLOW)
      return attempts.signals.heldUntil
    })
    return { asked, waits: heldUntil > 0 }
  }

  /** One a minute: nothing else would leave in time if a turn was used up. */
  const ONE_A_MINUTE: Pace = { ...SLOW, limits: [{ most: 1, spanMs: 60_000 }] }

  test('and one that is refused before it is sent leave their slots to others', async () => {
    const lane = newLane()
    let calls = 0
    const send = async () => {
      calls += 1
      return { kind: 'never_left', cause: 'refused' } as const
    }
    await withWorker(send, async (deps) => {
      const attempts = attemptsOn(deps, lane)
      const refused = await claimedOn(deps, lane)
      refused.refusal = { code: 'gone', sentence: '' }
      await attempts.send(refused, ONE_A_MINUTE)
      expect(calls).toBe(0)
      for (const _ of [1, 2]) await attempts.send(await claimedOn(deps, lane), ONE_A_MINUTE)
      expect(calls).toBe(2)
    })
  })

  test('is tried again, and its message goes back to its lane after the fourth time', async () => {
    const once = await sendOn(newLane(), 1)
    expect([once.asked.length, once.waits]).toEqual([2, false])
    const often = await sendOn(newLane(), 4)
    expect([often.asked.length, often.waits]).toEqual([4, true])
  })

  test.each([
    ['misses its slot every time', async () => ({ kind: 'never_left', cause: MISSED_SLOT }) as const],
    ['cannot be made', () => Promise.reject(new Error('a fault of ours'))],
  ])('leaves its slot to others when it %s', async (_how, send) => {
    const lane = newLane()
    await withWorker(send, async (deps) => {
      const attempts = attemptsOn(deps, lane)
      // A turn that did not end would be the only one.
      await attempts.send(await claimedOn(deps, lane), ONE_A_MINUTE)
      let calls = 0
      const next = await claimedOn(deps, lane)
      const { provider } = next.entry
      provider.send = async () => {
        calls += 1
        return { kind: 'accepted', providerId: 'p' }
      }
      await attempts.send(next, ONE_A_MINUTE)
      expect(calls).toBe(1)
    })
  })
})
