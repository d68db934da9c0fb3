import fc from 'fast-check'
import { expect, test } from 'vitest'
import { paceOf } from '../../src/jobs/lanes.ts'

/** BullMQ begins a window at the earliest so long after the one before has ended. */
const LATE_MS = 0.5

test('a sliding second holds no more than a tenth above the rate, or one message where that is more', () => {
  fc.assert(
    fc.property(fc.integer({ min: 10, max: 100_000 }), (rate) => {
      const { max, durationMs } = paceOf(rate)
      const windows = Math.floor(1_000 / (durationMs + LATE_MS)) + 1
      expect(max * windows).toBeLessThanOrEqual((rate + 10) * 1.11)
    }),
  )
})

test.each([
  [80, { max: 8, durationMs: 99 }],
  [1_000, { max: 100, durationMs: 100 }],
  [1, { max: 1, durationMs: 999 }],
])('%i messages a second go in these windows', (rate, pace) => {
  expect(paceOf(rate)).toEqual(pace)
})
