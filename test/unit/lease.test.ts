// Pins: what a process leases of a bucket ahead of time, and how rarely it asks for more. Pure: a bucket and a clock of its
// own.
import { expect, test } from 'vitest'
import { createLease } from '../../src/producer/rate-limits/lease.ts'

/** Asks `perSecond` times a second for ten seconds against a bucket of `rate`. */
function askFor(perSecond: number, rate: number): { through: number; asked: number; writes: number } {
  const lease = createLease()
  let [tokens, filledAt] = [rate, 0]
  const seen = { through: 0, asked: 0, writes: 0 }
  for (let n = 0; n < perSecond * 10; n += 1) {
    const now = (n * 1_000) / perSecond
    lease.came(now)
    const isWithin = lease.use(now)
    if (isWithin) seen.through += 1
    if (!isWithin && lease.isEmpty(now)) continue
    const want = lease.wanted(rate, isWithin ? 0 : 1, now)
    if (want === 0) continue
    tokens = Math.min(rate, tokens + ((now - filledAt) * rate) / 1_000)
    filledAt = now
    const granted = Math.min(want, Math.floor(tokens))
    tokens -= granted
    const left = Math.floor(tokens)
    lease.take({ granted, left, waitMs: left > 0 ? 0 : Math.ceil(((1 - tokens) * 1_000) / rate) }, want, rate, now)
    seen.asked += 1
    if (granted > 0) seen.writes += 1
    if (!isWithin && lease.use(now)) seen.through += 1
  }
  return seen
}

test('whoever asks for ten times the rate gets the rate, and makes Redis write ten times a second', () => {
  const { through, asked, writes } = askFor(500, 50)
  expect(through).toBeGreaterThan(50 * 10 * 0.95)
  expect(through).toBeLessThanOrEqual(50 * 11)
  expect(asked).toBeLessThan(10 * 10 * 1.5)
  expect(writes).toBeLessThan(10 * 10 * 1.5)
})

test('whoever asks for a little more than the rate is not refused for longer than it takes', () => {
  const { through } = askFor(60, 50)
  expect(through).toBeGreaterThan(50 * 11 * 0.95)
})

test('whoever stays below the rate is never refused, and seldom asked for', () => {
  const { through, asked } = askFor(40, 50)
  expect(through).toBe(400)
  expect(asked).toBeLessThanOrEqual(200)
})

test('whoever stays far below the rate is asked for about once a second, and what is held ready for them stays small', () => {
  const { through, asked } = askFor(25, 1_000)
  expect(through).toBe(250)
  expect(asked).toBeLessThanOrEqual(20)
  const lease = createLease()
  for (let n = 0; n < 100; n += 1) lease.came(n)
  lease.take({ granted: 1, left: 999, waitMs: 0 }, 1, 1_000, 100)
  expect(lease.wanted(1_000, 1, 100)).toBeLessThanOrEqual(1 + 1_000 / 5)
  for (let n = 0; n < 2_000; n += 1) lease.came(101 + n / 100)
  expect(lease.wanted(100, 1, 121)).toBeLessThanOrEqual(1 + 100 / 5)
})

test('what is leased is lost after a quarter of a second, and after two where the bucket was half full', () => {
  const lease = createLease()
  lease.take({ granted: 5, left: 49, waitMs: 0 }, 5, 100, 0)
  expect([lease.use(249), lease.use(250)]).toEqual([true, false])
  lease.take({ granted: 5, left: 49, waitMs: 0 }, 5, 100, 1_000)
  lease.take({ granted: 1, left: 50, waitMs: 0 }, 1, 100, 1_300)
  expect([lease.use(3_299), lease.use(3_299)]).toEqual([true, false])
  lease.take({ granted: 2, left: 50, waitMs: 0 }, 2, 100, 4_000)
  expect([lease.use(5_999), lease.use(6_000)]).toEqual([true, false])
})

test('for whoever comes alone, or comes back after a pause, nothing is leased ahead', () => {
  const lease = createLease()
  for (let n = 0; n < 50; n += 1) lease.came(n)
  lease.take({ granted: 1, left: 999, waitMs: 0 }, 1, 1_000, 50)
  lease.came(5_000)
  expect(lease.wanted(1_000, 1, 5_000)).toBe(1)
})

test('an empty bucket is asked again after 25 ms, and after 100 ms by whoever comes more than twice too often', () => {
  const asksAgainAfter = (came: number): number => {
    const lease = createLease()
    for (let n = 0; n < came; n += 1) lease.came(0)
    lease.take({ granted: 0, left: 0, waitMs: 5 }, 1, 50, 0)
    let ms = 0
    while (lease.isEmpty(ms)) ms += 1
    return ms
  }
  expect([asksAgainAfter(10), asksAgainAfter(11)]).toEqual([25, 100])
})

test.each([
  [1, 1, 1_000],
  [50, 5, 100],
])('without Redis, a rate of %i a second lets %i through in %i ms', (rate, most, ms) => {
  const lease = createLease()
  lease.takeAlone(rate, 0)
  const through = Array.from({ length: most + 1 }, () => lease.use(ms - 1))
  expect(through.filter(Boolean)).toHaveLength(most)
  expect([lease.isEmpty(ms - 1), lease.isEmpty(ms)]).toEqual([true, false])
})
