// Pins: a process knows Redis' time as exactly as the quickest answer tells it, and notices when a clock is set.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRedisClock } from '../../src/worker/sending/redis-clock.ts'

const LANE = 1

test('a time of Redis never becomes an earlier one of ours, and is off by the quickest round trip at most', () => {
  const trip = fc.record({
    there: fc.double({ min: 0, max: 50, noNaN: true }),
    back: fc.double({ min: 0, max: 50, noNaN: true }),
  })
  const skews = fc.integer({ min: -400_000, max: 400_000 })
  fc.assert(
    fc.property(skews, fc.array(trip, { minLength: 1, maxLength: 40 }), (skew, trips) => {
      const clock = createRedisClock()
      let now = 1_000
      for (const { there, back } of trips) {
        clock.observe(LANE, now, now + there + skew, now + there + back)
        now += there + back + 10
      }
      const late = clock.ours(LANE, now + skew) - now
      const quickest = Math.min(...trips.map(({ back }) => back))
      expect(late).toBeGreaterThan(-1e-6)
      expect(late).toBeLessThan(quickest + 1e-6)
    }),
  )
})

test.each([300_000, -300_000])('a clock that is set by %i ms is trusted at the next answer', (set) => {
  const clock = createRedisClock()
  clock.observe(LANE, 0, 5_000, 2)
  clock.observe(LANE, 100, 5_100 + set, 102)
  const redisNow = 5_200 + set
  expect(Math.abs(clock.ours(LANE, redisNow) - 200)).toBeLessThanOrEqual(2)
})

test('the servers of a cluster have separate clocks', () => {
  const clock = createRedisClock((lane) => (lane < 10 ? 'a' : 'b'))
  clock.observe(1, 0, 5_000, 2)
  clock.observe(11, 0, 65_000, 2)
  expect(clock.ours(2, 5_010)).toBe(12)
  expect(clock.ours(12, 65_010)).toBe(12)
})
