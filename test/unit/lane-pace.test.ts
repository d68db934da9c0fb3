// Pins: the arithmetic of a lane's pace keeps every span within its bounds, whatever stalls.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { flowOf, paceOf } from '../../src/messages/pace.ts'

/** The most requests that can leave within so many ms: those of the time before may come as late as they may. */
function mostWithin(ms: number, rate: number): number {
  const { gapUs, graceUs, lateMs } = paceOf(rate)
  return Math.ceil((ms * 1_000 + graceUs + lateMs * 1_000) / gapUs - 1e-9)
}

/** From 5,000 on nothing is too late. */
const rates = fc.integer({ min: 1, max: 4_999 })

test('no ten seconds hold more than the rate', () => {
  fc.assert(
    fc.property(rates, (rate) => {
      expect(mostWithin(10_000, rate)).toBeLessThanOrEqual(10 * rate)
    }),
  )
})

test.each([
  [10, 10],
  [80, 88],
  [1_000, 1_100],
])('of a lane of %i a second no second holds more than %i, whatever stalls', (rate, most) => {
  expect(mostWithin(1_000, rate)).toBeLessThanOrEqual(most)
})

test('a minute of a full lane holds at least 98.5 % of the rate', () => {
  fc.assert(
    fc.property(rates, (rate) => {
      expect(1_000_000 / paceOf(rate).gapUs).toBeGreaterThan(0.985 * rate)
    }),
  )
})

test('jobs are fetched somewhat faster than they may leave, so that claims stay ahead of their slots', () => {
  fc.assert(
    fc.property(fc.double({ min: 1 / 60, max: 5_000, noNaN: true }), (rate) => {
      const { max, durationMs } = flowOf(rate)
      // BullMQ begins a window up to 1.3 ms after the one before has ended.
      const perSecond = max / ((durationMs + 1.3) / 1_000)
      expect(perSecond).toBeGreaterThan(1.01 * rate)
      expect(perSecond).toBeLessThan(1.7 * rate)
    }),
  )
})

test('a transactional message waits for at most 75 ms on a lane of 80/s that a campaign fills', () => {
  const { gapUs, aheadUs } = paceOf(80)
  expect(flowOf(80).durationMs + aheadUs.campaign / 1_000 + gapUs / 1_000).toBeLessThan(75)
})
