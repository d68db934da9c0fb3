// Pins: the numbers of a lane's pace. That the slots keep every
// span within its bounds is in test/component/slot-spans.slow.test.ts.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { paceOf } from '../../src/model/messages/pace.ts'

const rates = fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.double({ min: 1 / 60, max: 5_000, noNaN: true }))

test('a minute of a full lane holds at least 98.5 % of the rate', () => {
  fc.assert(
    fc.property(rates, (rate) => {
      expect(1_000_000 / paceOf(rate).gapUs).toBeGreaterThan(0.985 * rate)
    }),
  )
})

test('ten seconds are whole windows, each as long as its gaps, or slots are never closer than a gap', () => {
  fc.assert(
    fc.property(rates, (rate) => {
      const { window, gapUs, closestUs } = paceOf(rate)
      if (window === 1) expect(closestUs).toBe(gapUs)
      else if (rate <= 10_000) expect((10 * rate) % window).toBe(0)
      expect(closestUs).toBeGreaterThanOrEqual(gapUs / 1.25)
      expect(window).toBeLessThanOrEqual(10_000)
    }),
  )
})

test('from 500 a second on no second has more than 1.05 times the rate, however late requests may be', () => {
  fc.assert(
    fc.property(fc.integer({ min: 500, max: 4_999 }), (rate) => {
      const { closestUs, lateMs } = paceOf(rate)
      expect(((1_000 + lateMs) * 1_000) / closestUs).toBeLessThan(1.05 * rate)
    }),
  )
})

test('a lane of 1,000 a second sends at least 997 of them without stalls, and makes up for a stall of 0.2 s', () => {
  const { gapUs, closestUs, window } = paceOf(1_000)
  expect(1_000_000 / gapUs).toBeGreaterThan(997)
  expect(window * (gapUs - closestUs)).toBeGreaterThan(200_000)
})
