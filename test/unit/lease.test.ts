// Pins: what a process leases of a bucket ahead of time, and how rarely it asks for more. Pure: a bucket and a clock of its
// own.
import { expect, test } from 'vitest'
import { createLease } from '../../src/limits/lease.ts'

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
