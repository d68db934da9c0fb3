// Pins: claims give out slots a gap apart, to what leaves and to nothing else, and a request that missed its slot gets
// another one. Real: Redis. The clock is Redis' own, so that times are compared with room for a busy machine.

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { deadlineIn } from '../../src/deadline.ts'
import { type MessageId, newAttemptId } from '../../src/messages/message-id.ts'
import { MISSED_SLOT } from '../../src/messages/outcome.ts'
import { type Pace, paceOf } from '../../src/messages/pace.ts'
import { type ClaimResult, putOff, reserveSlots, type Slot } from '../../src/messages/store/claim.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { departure as departureOf } from '../../src/worker/sending/departure.ts'
import { createRedisClock } from '../../src/worker/sending/redis-clock.ts'
import { claim } from '../support/claim.ts'
import { audioMessage, LONG_TIMES, newId, startLaneRedis } from '../support/lane-redis.ts'
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
}

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
  more: { pace?: Pace; id?: MessageId; validMs?: number; class?: 'transactional' | 'campaign' } = {},
): Promise<ClaimResult> {
  const { pace = SLOW, id = newId(lane), validMs = HOUR, class: of = 'transactional' } = more
  const message = { ...audioMessage, class: of, validUntil: (await redisNowMs(redis)) + validMs }
  return claim(redis, id, newAttemptId(), message, LONG_TIMES, pace)
}

const latest = (lane: number): Promise<string[]> => slotsOf(redis, lane).all()

async function slotOn(lane: number, pace = SLOW): Promise<Slot> {
  const claimed = await claimOn(lane, { pace })
  if (!('slot' in claimed) || claimed.slot === undefined) throw new Error(`no slot: ${JSON.stringify(claimed)}`)
  return claimed.slot
}

describe('a claim', () => {
  test('gives out slots a gap apart, the first of them now', async () => {
    const lane = newLane()
    const slots = [await slotOn(lane), await slotOn(lane), await slotOn(lane), await slotOn(newLane())]
    const [first, ...others] = slots.map(({ atMs }) => atMs)
    expect((first ?? 0) - (slots[0]?.nowMs ?? 0)).toBeLessThanOrEqual(0)
    expect((others[0] ?? 0) - (first ?? 0)).toBeCloseTo(500, 0)
    expect((others[1] ?? 0) - (others[0] ?? 0)).toBeCloseTo(500, 0)
    // Another lane has slots of its own.
    expect((others[2] ?? 0) - (slots[3]?.nowMs ?? 0)).toBeLessThanOrEqual(0)
  })

  test('is refused when its slot is too far ahead, without a trace; a transactional message may claim it', async () => {
    const lane = newLane()
    for (let i = 0; i < 3; i += 1) await slotOn(lane)
    const last = await latest(lane)
    const id = newId(lane)
    const refused = await claimOn(lane, {
      id,
      class: 'campaign',
      pace: { ...SLOW, aheadUs: { transactional: HOUR, campaign: 1_000 } },
    })
    expect(refused).toMatchObject({ verdict: 'too_early', state: 'queued' })
    if (refused.verdict === 'too_early') expect(refused.waitMs).toBeGreaterThan(0)
    expect(await latest(lane)).toEqual(last)
    expect(await claimOn(lane, { id })).toMatchObject({ verdict: 'done', state: 'sending' })
  })

  test('of what does not leave uses no slot', async () => {
    const lane = newLane()
    await slotOn(lane)
    const last = await latest(lane)
    expect(await claimOn(lane, { validMs: -1 })).toEqual({ verdict: 'done', state: 'expired' })
    const waiting = newId(lane)
    await putOff(redis, waiting, HOUR)
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

  test('of a lane whose rate has changed goes by the new one', async () => {
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
  test('leaves at once when nobody has the next one, and all that follow move', async () => {
    const lane = newLane()
    const missed = await slotOn(lane)
    await eventually(async () => (await redisNowMs(redis)) > missed.atMs + 100, 'the slot is over')
    const again = (await reserveSlots(redis, lane, [missed], { pace: SLOW, mostAheadMs: 2_000 }))[0]
    expect((again?.atMs ?? HOUR) - (again?.nowMs ?? 0)).toBeLessThanOrEqual(0)
    expect((await slotOn(lane)).atMs - (again?.atMs ?? 0)).toBeCloseTo(500, 0)
  })

  test('gets the one after all that are given out, and none that is too far ahead', async () => {
    const lane = newLane()
    const [missed, , last] = [await slotOn(lane), await slotOn(lane), await slotOn(lane)]
    const again = (await reserveSlots(redis, lane, [missed], { pace: SLOW, mostAheadMs: 60_000 }))[0]
    expect((again?.atMs ?? 0) - last.atMs).toBeCloseTo(500, 0)
    const before = await latest(lane)
    expect(await reserveSlots(redis, lane, [missed], { pace: SLOW, mostAheadMs: 10 })).toEqual([])
    expect(await latest(lane)).toEqual(before)
  })

  test('leaves room for another one in its window', async () => {
    const lane = newLane()
    const pace = { ...SLOW, closestUs: 100_000, window: 4 }
    const slots: Slot[] = []
    for (let n = 0; n < 4; n += 1) slots.push(await slotOn(lane, pace))
    const [, missed, , last] = slots
    if (!missed || !last) throw new Error('no slots')
    const again = (await reserveSlots(redis, lane, [missed], { pace, mostAheadMs: 60_000 }))[0]
    expect(await latest(lane)).toEqual([again, last, slots[2], slots[0]].map((slot) => slot?.name))
  })
})

describe('a worker', () => {
  /** By `performance.now()` alone. */
  const deadlineAt = (steadyMs: number) => ({ ...deadlineIn(Number.POSITIVE_INFINITY), steadyMs })
  const taken = { kind: 'accepted', providerId: '1' } as const
  type Departure = Parameters<typeof departureOf>
  /** Of a message that its recipient always gets. */
  const departure = (
    deps: Departure[0],
    lane: number,
    claimed: Omit<Departure[2], 'wantedUntil'>,
    send: Departure[3],
  ) =>
    departureOf(deps, lane, { ...claimed, wantedUntil: deadlineIn(Number.POSITIVE_INFINITY) }, send, () =>
      Promise.reject(new Error('nobody need be asked')),
    )
  const soon: Pace = { ...paceOf(80), gapUs: 100_000, closestUs: 100_000 }

  async function claimsOf(lane: number, count: number) {
    const clock = createRedisClock()
    const claims: { slot: Slot; askedAt: number }[] = []
    for (let i = 0; i < count; i += 1) {
      const askedAt = performance.now()
      const claimed = await claimOn(lane, { pace: { ...soon, aheadUs: SLOW.aheadUs } })
      const slot = 'slot' in claimed ? claimed.slot : undefined
      if (slot === undefined) throw new Error('no slot')
      clock.heard(lane, askedAt, slot.nowMs, performance.now())
      claims.push({ slot, askedAt })
    }
    return { clock, claims }
  }

  test('lets requests leave in their slots, not before', async () => {
    const lane = newLane()
    const { clock, claims } = await claimsOf(lane, 4)
    const until = deadlineIn(10_000)
    await Promise.all(
      claims.map(async ({ slot }) => {
        const leavesAt = clock.ours(lane, slot.atMs)
        const pace = { ...soon, lateMs: 5_000 }
        const ended = await departure({ redis, clock }, lane, { slot, pace, until }, async (leaveBy) => {
          expect(performance.now()).toBeGreaterThanOrEqual(leavesAt)
          expect(leaveBy).toBe(Math.min(leavesAt + 5_000, until.steadyMs))
          return taken
        })
        expect(ended).toBe(taken)
      }),
    )
  })

  test('that stood still spreads what it had claimed over new slots', async () => {
    const lane = newLane()
    const { clock, claims } = await claimsOf(lane, 4)
    const until = deadlineIn(60_000)
    const left: number[] = []
    const leaving = claims.map(async ({ slot }) => {
      await departure({ redis, clock }, lane, { slot, pace: soon, until }, async () => {
        left.push(performance.now())
        return taken
      })
    })
    // The whole process stands still, as under SIGSTOP.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
    await Promise.all(leaving)
    left.sort((a, b) => a - b)
    // Slots are 100 ms apart and a request may be 50 ms late: together they would all be within 10 ms.
    expect((left[3] ?? 0) - (left[0] ?? 0)).toBeGreaterThan(200)
  })

  test('that stood still for longer than its claim is good for sends nothing', async () => {
    const lane = newLane()
    const { clock, claims } = await claimsOf(lane, 1)
    const slot = claims[0]?.slot
    const until = deadlineIn(-1)
    const ended = departure({ redis, clock }, lane, { slot, pace: soon, until }, () =>
      Promise.reject(new Error('sent')),
    )
    expect(await ended).toBeUndefined()
  })

  test.each([
    ['at once', 0],
    ['after a wait', 100],
  ])(
    'whose machine was suspended for longer sends nothing, although its timers stood still: slot %s',
    async (_which, waitMs) => {
      const lane = newLane()
      const { clock, claims } = await claimsOf(lane, 1)
      const { slot } = claims[0] ?? {}
      if (slot === undefined) throw new Error('no slot')
      const until = deadlineIn(5_000)
      const real = Date.now
      // What goes on meanwhile is the wall clock alone.
      const suspend = (): void => void vi.spyOn(Date, 'now').mockImplementation(() => real() + 6_000)
      const later = { ...slot, atMs: slot.atMs + waitMs }
      const pace = { ...soon, lateMs: 5_000 }
      try {
        if (waitMs === 0) suspend()
        const ended = departure({ redis, clock }, lane, { slot: later, pace, until }, () =>
          Promise.reject(new Error('sent')),
        )
        suspend()
        expect(await ended).toBeUndefined()
      } finally {
        vi.restoreAllMocks()
      }
    },
  )

  test('whose connection opens too late sends in another slot', async () => {
    const lane = newLane()
    const { clock, claims } = await claimsOf(lane, 2)
    const slot = claims[0]?.slot
    const asked: number[] = []
    const until = deadlineIn(60_000)
    const ended = await departure({ redis, clock }, lane, { slot, pace: soon, until }, async (leaveBy) => {
      asked.push(leaveBy)
      return asked.length === 1 ? { kind: 'never_left', cause: MISSED_SLOT } : taken
    })
    expect(ended).toBe(taken)
    // After the slot of the other claim.
    expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThan(150)
  })

  test('lets nothing leave after its claim is good for, however late its pace allows it to be', async () => {
    const lane = newLane()
    const { clock, claims } = await claimsOf(lane, 2)
    const until = deadlineIn(10_000)
    const asked: number[] = []
    // The first slot is now, the other one is waited for.
    for (const { slot } of claims) {
      await departure({ redis, clock }, lane, { slot, pace: { ...soon, lateMs: 60_000 }, until }, async (leaveBy) => {
        asked.push(leaveBy)
        return taken
      })
    }
    expect(asked).toEqual([until.steadyMs, until.steadyMs])
  })

  test('does not wait for a slot that comes when its claim is good no more, as after the clock of Redis was set back', async () => {
    const lane = newLane()
    const { clock, claims } = await claimsOf(lane, 1)
    const slot = claims[0]?.slot
    const now = performance.now()
    clock.heard(lane, now, (slot?.nowMs ?? 0) - 60_000, now)
    const send = () => Promise.reject(new Error('it was sent'))
    const leaving = departure({ redis, clock }, lane, { slot, pace: soon, until: deadlineIn(50_000) }, send)
    expect(await leaving).toBeUndefined()
    expect(performance.now() - now).toBeLessThan(40_000)
  })

  test('that comes to a slot when it is over sends in another one', async () => {
    const lane = newLane()
    const { clock, claims } = await claimsOf(lane, 1)
    const slot = claims[0]?.slot
    const leftAt = clock.ours(lane, slot?.atMs ?? 0) + soon.lateMs
    await eventually(async () => performance.now() > leftAt, 'the slot is over')
    const until = deadlineIn(60_000)
    const leftMs: number[] = []
    const ended = await departure({ redis, clock }, lane, { slot, pace: soon, until }, async (leaveBy) => {
      leftMs.push(leaveBy - performance.now())
      return taken
    })
    expect(ended).toBe(taken)
    expect(leftMs).toEqual([expect.any(Number)])
    expect(leftMs[0]).toBeGreaterThan(0)
  })

  test('that misses slot after slot sends in another each time, and has more time for it in the end', async () => {
    const lane = newLane()
    const { clock, claims } = await claimsOf(lane, 1)
    const until = deadlineIn(600_000)
    const leftMs: number[] = []
    // So late that no busy machine misses a slot by itself.
    const pace = { ...soon, lateMs: 5_000 }
    await departure({ redis, clock }, lane, { slot: claims[0]?.slot, pace, until }, async (leaveBy) => {
      leftMs.push(leaveBy - performance.now())
      return leftMs.length <= 6 ? { kind: 'never_left', cause: MISSED_SLOT } : taken
    })
    expect(leftMs).toHaveLength(7)
    // As much as its pace allows; after three that were missed twice as much each time.
    expect(Math.max(...leftMs.slice(0, 4))).toBeLessThanOrEqual(5_000)
    expect(leftMs[4]).toBeGreaterThan(5_000)
    expect(leftMs[6]).toBeGreaterThan(20_000)
  })

  test('whose request cannot leave for another reason does not try another slot', async () => {
    const lane = newLane()
    const { clock, claims } = await claimsOf(lane, 2)
    const refused = { kind: 'never_left', cause: 'refused' } as const
    const until = deadlineIn(60_000)
    let asked = 0
    for (const { slot } of claims) {
      const ended = await departure({ redis, clock }, lane, { slot, pace: soon, until }, async () => {
        asked += 1
        return refused
      })
      expect(ended).toBe(refused)
    }
    expect(asked).toBe(2)
  })

  test('without Redis has no other slot, and lets nothing leave', async () => {
    const lane = newLane()
    const { clock, claims } = await claimsOf(lane, 1)
    const away = connectWithRetry(url)
    away.on('error', () => undefined)
    away.disconnect()
    const until = deadlineIn(60_000)
    const ended = departure({ redis: away, clock }, lane, { slot: claims[0]?.slot, pace: soon, until }, async () => ({
      kind: 'never_left',
      cause: MISSED_SLOT,
    }))
    expect(await ended).toBeUndefined()
  })

  test('asks again before it sends what is to leave later than the answer is good for, and lets it leave in its slot', async () => {
    const lane = newLane()
    const { clock, claims } = await claimsOf(lane, 4)
    const slot = claims[3]?.slot
    const leavesAt = clock.ours(lane, slot?.atMs ?? 0)
    const until = deadlineIn(60_000)
    const pace = { ...soon, lateMs: 5_000 }
    const wantedUntil = deadlineAt(leavesAt - 1)
    const asked: number[] = []
    const ended = await departureOf(
      { redis, clock },
      lane,
      { slot, pace, until, wantedUntil },
      async (leaveBy) => {
        expect([performance.now() >= leavesAt, leaveBy]).toEqual([true, leavesAt + 1_000])
        return taken
      },
      async () => {
        asked.push(performance.now())
        return deadlineAt(leavesAt + 1_000)
      },
    )
    expect(ended).toBe(taken)
    expect(asked).toEqual([expect.any(Number)])
    expect(asked[0]).toBeLessThan(leavesAt)
  })

  test.each([
    ['the answer is no', async () => undefined],
    ['nobody can say', () => Promise.reject(new Error('Redis is away'))],
  ])('sends nothing late when %s', async (_when, askAgain) => {
    const lane = newLane()
    const { clock, claims } = await claimsOf(lane, 1)
    const claimed = { slot: claims[0]?.slot, pace: soon, until: deadlineIn(60_000) }
    const send = async (leaveBy: number) => {
      if (performance.now() <= leaveBy) throw new Error('sent')
      return { kind: 'never_left', cause: MISSED_SLOT } as const
    }
    const wantedUntil = deadlineIn(Number.NEGATIVE_INFINITY)
    expect(await departureOf({ redis, clock }, lane, { ...claimed, wantedUntil }, send, askAgain)).toBeUndefined()
  })

  test.each([
    ['at once', 0],
    ['after a wait', 100],
  ])('whose machine was suspended asks again whether the message is wanted: slot %s', async (_which, waitMs) => {
    const lane = newLane()
    const { clock, claims } = await claimsOf(lane, 1)
    const { slot } = claims[0] ?? {}
    if (slot === undefined) throw new Error('no slot')
    const later = { ...slot, atMs: slot.atMs + waitMs }
    const pace = { ...soon, lateMs: 5_000 }
    const claimed = { slot: later, pace, until: deadlineIn(60_000), wantedUntil: deadlineIn(5_000) }
    const real = Date.now
    let asked = 0
    const send = () => Promise.reject(new Error('sent'))
    const askAgain = async () => {
      asked += 1
      return undefined
    }
    // What goes on meanwhile is the wall clock alone.
    const suspend = (): void => void vi.spyOn(Date, 'now').mockImplementation(() => real() + 6_000)
    try {
      if (waitMs === 0) suspend()
      const ended = departureOf({ redis, clock }, lane, claimed, send, askAgain)
      suspend()
      expect([await ended, asked]).toEqual([undefined, 1])
    } finally {
      vi.restoreAllMocks()
    }
  })

  test('that stood still with a request in hand asks again, however late its pace allows it to be', async () => {
    const lane = newLane()
    const { clock, claims } = await claimsOf(lane, 1)
    const pace = { ...soon, lateMs: Number.POSITIVE_INFINITY }
    const claimed = { slot: claims[0]?.slot, pace, until: deadlineIn(60_000) }
    const wantedUntil = deadlineIn(100)
    let asked = 0
    const leaving = departureOf(
      { redis, clock },
      lane,
      { ...claimed, wantedUntil },
      async (leaveBy) => (performance.now() > leaveBy ? { kind: 'never_left', cause: MISSED_SLOT } : taken),
      async () => {
        asked += 1
        return undefined
      },
    )
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    const ended = await leaving
    // It may have left before the process stood still.
    expect([ended, asked]).toEqual(ended === taken ? [taken, 0] : [undefined, 1])
  })
})
