// Pins: what may wait for a moment begins at the last shared tick before it is due, and never later than due.
import { expect, test } from 'vitest'
import { sharedTickBefore } from '../../src/kernel/shared-ticks.ts'

test('what is due at different moments begins at the same tick', () => {
  expect([1_101, 1_120, 1_149.9].map((at) => sharedTickBefore(at, 1_010))).toEqual([1_100, 1_100, 1_100])
})

test('a tick is used as it comes', () => {
  expect(sharedTickBefore(1_100, 1_010)).toBe(1_100)
})

test('what is due before the next tick begins when it is due', () => {
  expect([sharedTickBefore(1_049, 1_010), sharedTickBefore(1_049, 1_000), sharedTickBefore(990, 1_010)]).toEqual([
    1_049, 1_049, 990,
  ])
})
