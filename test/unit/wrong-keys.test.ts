// Pins: some wrong keys are refused at once, further ones from the same address late, by 2 s at most, and another address
// is not made to wait for them.
import { afterEach, expect, test, vi } from 'vitest'
import { createWrongKeys } from '../../src/producer/wrong-keys.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('300 refusals within 6 s are answered at once, the others are delayed for 2 s at most', async () => {
  vi.useFakeTimers()
  const keys = createWrongKeys()
  const delays: number[] = []
  for (let n = 0; n < 400; n += 1) delays.push(await keys.delayOf('192.0.2.1'))
  expect(delays.slice(0, 300)).toEqual(Array.from({ length: 300 }, () => 0))
  expect(delays.slice(300)).toEqual(Array.from({ length: 100 }, () => 2_000))
  expect(await keys.delayOf('192.0.2.2')).toBe(0)
  vi.advanceTimersByTime(5_000)
  expect(await keys.delayOf('192.0.2.1')).toBe(1_000)
  vi.advanceTimersByTime(1_001)
  expect(await keys.delayOf('192.0.2.1')).toBe(0)
})
