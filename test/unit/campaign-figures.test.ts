// Pins: what a campaign's figures say, how much it may put on its lane, when it slows down and when it stops.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createFeeding, createMeter, nextPace, type Seen } from '../../src/campaigns/fan-out/back-pressure.ts'
import { createFailureBreaker } from '../../src/campaigns/fan-out/failure-share.ts'
import { acceptedAtMs, messageId, parseMessageId } from '../../src/kernel/message-id.ts'
import { durationOf, lateOf } from '../../src/model/campaigns/definition.ts'
import { CAMPAIGN_MOVES, CAMPAIGN_STATES } from '../../src/model/campaigns/lifecycle.ts'
import { campaignMessageUlid, MAX_RECIPIENTS } from '../../src/model/campaigns/message-ids.ts'
import { portionOf, roundMs, WIDEST_WINDOW, windowOf } from '../../src/model/campaigns/pace.ts'
import { concluded, secondsLeft, sharesOf, shownRate, unsettled } from '../../src/model/campaigns/progress.ts'
import { STATES } from '../../src/model/messages/lifecycle.ts'

describe('shares', () => {
  test('add up to the recipients, whatever is counted and whatever the state', () => {
    const counts = fc.record(Object.fromEntries(STATES.map((state) => [state, fc.nat(1_000)])), { requiredKeys: [] })
    fc.assert(
      fc.property(counts, fc.nat(10_000), fc.constantFrom(...CAMPAIGN_STATES), (counted, more, state) => {
        const total = Object.values(counted).reduce((sum: number, each) => sum + (each ?? 0), 0) + more
        const shares = sharesOf(counted, total, state)
        expect(STATES.reduce((sum, each) => sum + shares[each], 0)).toBe(total)
        expect(Math.min(...Object.values(shares))).toBeGreaterThanOrEqual(0)
      }),
    )
  })

  test('of a cancelled campaign have nobody waiting except after a try', () => {
    const shares = sharesOf({ queued: 2, sent: 3 }, 10, 'cancelled')
    expect(shares).toMatchObject({ queued: 2, sent: 3, cancelled: 5 })
    expect(unsettled(shares)).toBe(2)
  })

  test('have no rate before anything is sent, nor from messages with an unknown outcome', () => {
    const inDoubt = sharesOf({ unconfirmed: 5, unknown: 8, queued: 4 }, 100, 'running')
    expect([concluded(inDoubt), shownRate(inDoubt, 0.47)]).toEqual([0, 0])
    const refused = sharesOf({ failed: 5 }, 100, 'running')
    expect([concluded(refused), shownRate(refused, 0.47)]).toEqual([5, 0])
    const sent = sharesOf({ failed: 5, sent: 1, delivered: 1, read: 1 }, 100, 'running')
    expect([concluded(sent), shownRate(sent, 0.47)]).toEqual([8, 0.47])
  })

  test('give the time left, at the measured rate or else at the lane’s', () => {
    const shares = sharesOf({ sent: 40 }, 100, 'running')
    expect(secondsLeft(shares, 'running', { measured: 20, laneRate: 80, running: 2 })).toBe(3)
    expect(secondsLeft(shares, 'running', { measured: 0, laneRate: 80, running: 2 })).toBe(2)
    expect(secondsLeft(shares, 'paused', { measured: 20, laneRate: 80, running: 1 })).toBeUndefined()
    // A wait that is over is none.
    expect(secondsLeft(shares, 'running', { measured: 20, laneRate: 80, running: 2 }, -9_000)).toBe(3)
    expect(secondsLeft(shares, 'running', { measured: 20, laneRate: 80, running: 2 }, 9_000)).toBe(12)
  })

  test('with only unconfirmed messages left have no pace and no known end', () => {
    const pace = { measured: 31.8, laneRate: 80, running: 1 }
    const onlyEvidence = sharesOf({ sent: 2_992, unconfirmed: 8 }, 3_000, 'running')
    expect([secondsLeft(onlyEvidence, 'running', pace), shownRate(onlyEvidence, 31.8)]).toEqual([undefined, 0])
    const oneOut = sharesOf({ sent: 2_991, sending: 1, unconfirmed: 8 }, 3_000, 'running')
    expect([secondsLeft(oneOut, 'running', pace), shownRate(oneOut, 31.8)]).toEqual([0, 31.8])
    const done = sharesOf({ sent: 3_000 }, 3_000, 'running')
    expect([secondsLeft(done, 'running', pace), shownRate(done, 31.8)]).toEqual([0, 31.8])
  })
})

test('no move leads out of a final state, and every state but the first is reached by a move', () => {
  const moves = Object.values(CAMPAIGN_MOVES)
  expect(moves.filter(({ from }) => from.includes('done') || from.includes('cancelled'))).toEqual([])
  for (const state of CAMPAIGN_STATES) {
    if (state !== 'draft')
      expect(
        moves.some(({ to }) => to === state),
        state,
      ).toBe(true)
  }
})

describe('ids of a campaign’s messages', () => {
  const at = 1_790_000_000_000
  test('are the same in every release, and differ with the number as well', () => {
    expect(campaignMessageUlid('cmp_12_3', at, 1_234_567, '491711234567')).toBe('01M3250V0015NM7JN1BCW0PJEH')
    expect(campaignMessageUlid('cmp_12_3', at, 1_234_567, '491711234568')).not.toBe('01M3250V0015NM7JN1BCW0PJEH')
  })

  test('are valid ids with the time of the start, sort in the order of the list, and are the same each time', () => {
    fc.assert(
      fc.property(fc.nat(MAX_RECIPIENTS - 1), fc.nat(MAX_RECIPIENTS - 1), (i, j) => {
        const [a, b] = [campaignMessageUlid('cmp_1_1', at, i, '49151'), campaignMessageUlid('cmp_1_1', at, j, '49152')]
        expect(parseMessageId(messageId(1, a))).toEqual({ lane: 1, ulid: a })
        expect(acceptedAtMs(a)).toBe(at)
        expect(campaignMessageUlid('cmp_1_1', at, i, '49151')).toBe(a)
        if (i !== j) expect(a < b).toBe(i < j)
      }),
    )
  })

  test('differ between campaigns that start together', () => {
    expect(campaignMessageUlid('cmp_1_1', at, 0, '49151')).not.toBe(campaignMessageUlid('cmp_1_2', at, 0, '49151'))
  })

  test('end where the count ends', () => {
    expect(() => campaignMessageUlid('cmp_1_1', at, MAX_RECIPIENTS, '49151')).toThrow(RangeError)
  })
})

describe('the window', () => {
  test('is four seconds of the lane, shared, and never too small to keep it busy nor too large for Redis', () => {
    expect([windowOf(80, 1), windowOf(80, 2), windowOf(1, 1), windowOf(100_000, 1)]).toEqual([
      320,
      160,
      50,
      WIDEST_WINDOW,
    ])
    expect(windowOf(100_000, 4)).toBe(WIDEST_WINDOW / 4)
  })
})

test('a lane is fed half of a second at a time, and no more than a quarter of a window', () => {
  expect([portionOf(80), portionOf(80, 2), portionOf(1, 2), portionOf(100_000), portionOf(400, 260)]).toEqual([
    40, 40, 1, 500, 13,
  ])
})

test('the rounds of a fan-out come often enough to keep its lane busy, however many campaigns wait there', () => {
  for (const [rate, running, ms] of [
    [1, 1, 250],
    [80, 1, 250],
    [80, 2, 250],
    [300, 30, 100],
    [1_000, 30, 100],
    [2_500, 1, 250],
    [100_000, 1, 100],
  ] as const) {
    expect(roundMs(rate, running), `${rate} a second, ${running} campaigns`).toBe(ms)
    expect((windowOf(rate, running) * 1_000) / ms).toBeGreaterThanOrEqual(Math.min(rate, WIDEST_WINDOW))
  }
})

describe('the pace', () => {
  const seen = { throttled: false, measured: 0, laneRate: 80, elapsedMs: 1_000 }
  test('is the lane’s until the provider throttles, then half of what was accepted', () => {
    expect(nextPace(undefined, seen)).toBeUndefined()
    expect(nextPace(undefined, { ...seen, throttled: true, measured: 60 })).toBe(30)
    expect(nextPace(30, { ...seen, throttled: true, measured: 60 })).toBe(15)
    expect(nextPace(undefined, { ...seen, throttled: true })).toBe(40)
  })

  test('never drops to zero, and recovers in the end', () => {
    let pace: number | undefined = 40
    for (let i = 0; i < 100; i += 1) pace = nextPace(pace, { ...seen, throttled: true, measured: 1 })
    expect(pace).toBeGreaterThan(0)
    for (let i = 0; i < 200; i += 1) pace = nextPace(pace, seen)
    expect(pace).toBeUndefined()
  })
})

describe('feeding', () => {
  const seen = (more: Partial<Seen>): Seen => ({
    ...{ nowMs: 0, next: 0, taken: 0, backlog: 0, running: 1, throttled: 0, measured: 0, laneRate: 80 },
    ...more,
  })

  test('fills the window, and then feeds as many as were taken', () => {
    const feeding = createFeeding(undefined)
    expect(feeding.room(seen({}))).toBe(320)
    feeding.fed(320)
    expect(feeding.room(seen({ next: 320, backlog: 320 }))).toBe(0)
    expect(feeding.room(seen({ next: 320, backlog: 310, taken: 10 }))).toBe(10)
  })

  test('does not count messages that the lane does not have', () => {
    const feeding = createFeeding(undefined)
    expect(feeding.room(seen({ next: 500, taken: 100, backlog: 20 }))).toBe(300)
  })

  test('is limited to the pace once the provider throttles, at most a second at a time', () => {
    const feeding = createFeeding(undefined)
    feeding.room(seen({ nowMs: 10_000 }))
    expect(feeding.room(seen({ nowMs: 11_000, throttled: 1, measured: 40 }))).toBe(20)
    feeding.fed(20)
    expect(feeding.pace()).toBe(20)
    expect(feeding.room(seen({ nowMs: 11_100, throttled: 1, next: 20, taken: 20 }))).toBe(2)
    expect(feeding.room(seen({ nowMs: 60_000, throttled: 1, next: 20, taken: 20 }))).toBeLessThanOrEqual(69)
  })

  test('counts a burst of refusals as one', () => {
    const feeding = createFeeding(undefined)
    feeding.room(seen({ nowMs: 10_000 }))
    feeding.room(seen({ nowMs: 10_100, throttled: 5, measured: 40 }))
    feeding.room(seen({ nowMs: 10_200, throttled: 9, measured: 40 }))
    expect(feeding.pace()).toBeGreaterThanOrEqual(20)
  })
})

describe('the breaker', () => {
  test('trips on more than 30 of the latest hundred failed, and not on fewer', () => {
    const breaker = createFailureBreaker()
    expect(breaker.check({ finished: 0, failed: 0 })).toBeUndefined()
    expect(breaker.check({ finished: 99, failed: 99 })).toBeUndefined()
    expect(createChecked([0, 0], [100, 30])).toBeUndefined()
    expect(createChecked([0, 0], [100, 31])).toBe('31 of the last 100 messages failed or are unproven, more than 30 %.')
  })

  test('ignores failures that are long past or from before it began', () => {
    expect(createChecked([1_000, 1_000], [1_100, 1_000])).toBeUndefined()
    expect(createChecked([0, 0], [5_000, 100], [5_100, 150])).toMatch(/^50 of the last 100/)
  })

  function createChecked(...points: [finished: number, failed: number][]): string | undefined {
    const breaker = createFailureBreaker()
    return points.map(([finished, failed]) => breaker.check({ finished, failed })).at(-1)
  }
})

test('a meter measures the last seconds, and reports nothing before it has two points', () => {
  const meter = createMeter()
  expect(meter.measure(0, 0)).toBe(0)
  expect(meter.measure(100, 1_000)).toBe(100)
  for (let s = 2; s <= 20; s += 1) meter.measure(100, s * 1_000)
  expect(meter.measure(100, 21_000)).toBe(0)
})

describe('a campaign whose portfolio has a daily limit', () => {
  const plan = { recipients: 1_000_000, rate: 1_000, people: { now: 100_000, a_day: 100_000 } }

  test('takes as many days as the limit needs, and no more than its rate needs if it fits', () => {
    expect(durationOf(plan)).toEqual({ seconds: 9 * 86_400 + 100, days: 10 })
    expect(durationOf({ ...plan, people: { now: 50_000, a_day: 100_000 } })).toMatchObject({ days: 11 })
    expect(durationOf({ ...plan, recipients: 100_000 })).toEqual({ seconds: 100, days: 1 })
    expect(durationOf({ ...plan, people: null })).toEqual({ seconds: 1_000, days: 1 })
    expect(durationOf({ ...plan, recipients: 0 })).toEqual({ seconds: 0, days: 0 })
    expect(durationOf({ ...plan, people: { now: 5, a_day: 0 } })).toMatchObject({ days: null })
  })

  test('counts those as expiring whose turn comes after its validity', () => {
    expect(lateOf(plan, 2 * 86_400_000 + 1)).toBe(700_000)
    expect(lateOf(plan, 10 * 86_400_000)).toBe(0)
    expect(lateOf({ ...plan, people: null }, 86_400_000)).toBe(0)
  })
})
