// Pins: some wrong keys are refused at once, many from one address later and later up to 2 s, and another address is not
// made to wait for them. Stood in for: the clock.
import { expect, test } from 'vitest'
import { createWrongKeys } from '../../src/producer/wrong-keys.ts'

test('300 refusals are at once, then 50 a second, held back for 2 s at most', () => {
  let now = 1_000_000
  const keys = createWrongKeys(() => now)
  const delays = Array.from({ length: 1_000 }, () => keys.delayOf('192.0.2.1'))
  expect(delays.slice(0, 300)).toEqual(Array.from({ length: 300 }, () => 0))
  expect(delays[301]).toBeCloseTo(40)
  expect(Math.max(...delays)).toBe(2_000)
  expect(keys.delayOf('192.0.2.2')).toBe(0)
  now += 2_000
  expect(keys.delayOf('192.0.2.1')).toBeCloseTo(20)
  now += 60_000
  expect(keys.delayOf('192.0.2.1')).toBe(0)
})

test('whoever comes from ever new addresses is remembered for 10,000 of them', () => {
  const keys = createWrongKeys(() => 0)
  for (let i = 0; i < 25_000; i += 1) expect(keys.delayOf(String(i))).toBe(0)
})
