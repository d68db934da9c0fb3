// Pins: how long anything waits before it is tried again.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { laneBackoffMs, messageBackoffMs } from '../../src/kernel/backoff.ts'

test('a lane waits twice as long for each failure in a row, up to 30 s, and never less than it was asked to', () => {
  expect([0, 1, 2, 4, 5, 50].map((failures) => laneBackoffMs(1_000, failures))).toEqual([
    1_000, 2_000, 4_000, 16_000, 30_000, 30_000,
  ])
  expect(laneBackoffMs(60_000, 0)).toBe(60_000)
  expect(laneBackoffMs(60_000, 9)).toBe(60_000)
})

test('a message waits longer for each try, up to 5 minutes and a quarter more', () => {
  expect([1, 2, 3, 8, 50].map((tries) => messageBackoffMs(tries, 0))).toEqual([2_000, 4_000, 8_000, 256_000, 300_000])
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100 }), fc.double({ min: 0, max: 1, noNaN: true }), (tries, spread) => {
      const [least, wait] = [messageBackoffMs(tries, 0), messageBackoffMs(tries, spread)]
      expect(wait).toBeGreaterThanOrEqual(least)
      expect(wait).toBeLessThanOrEqual(Math.ceil(least * 1.25))
      expect(Number.isInteger(wait)).toBe(true)
    }),
  )
})
