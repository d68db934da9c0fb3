// Pins: quantiles of answer times are right to a few per cent, forget what is old, and take the same memory whatever comes.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createAnswerTimes } from '../../src/worker/sending/answer-times.ts'

/** The greatest of the smallest `share` of the values. */
const exact = (values: readonly number[], share: number): number =>
  [...values].sort((one, other) => one - other)[Math.ceil(values.length * share) - 1] ?? 0

test('before the first answer no time is known', () => {
  expect(createAnswerTimes().lately()).toBeUndefined()
})

test('both quantiles are those of all values, to within 2.5 per cent', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 1, max: 60_000, noNaN: true }), { minLength: 1 }), (values) => {
      const times = createAnswerTimes(() => 0)
      for (const ms of values) times.add(ms)
      const { p50 = 0, p99 = 0 } = times.lately() ?? {}
      for (const [found, share] of [
        [p50, 0.5],
        [p99, 0.99],
      ] as const) {
        const wanted = exact(values, share)
        expect(Math.abs(found - wanted) / wanted).toBeLessThan(0.025)
      }
    }),
  )
})

test('a value at the edge of its bucket is also reported to within 2.5 per cent', () => {
  const times = createAnswerTimes(() => 0)
  times.add(10_623.709631701066)
  expect(times.lately()?.p50).toBeGreaterThan(10_623 * 0.975)
  expect(times.lately()?.p50).toBeLessThan(10_623 * 1.025)
})

test('one slow answer in a hundred is not in the p99, two are', () => {
  const times = createAnswerTimes(() => 0)
  for (let i = 0; i < 99; i += 1) times.add(300)
  times.add(9_000)
  expect(times.lately()?.p99).toBeLessThan(320)
  times.add(9_000)
  expect(times.lately()?.p99).toBeGreaterThan(8_500)
  expect(times.lately()?.p50).toBeLessThan(320)
})

test('an implausible time is counted in the first or the last bucket', () => {
  const times = createAnswerTimes(() => 0)
  for (const ms of [-1, 0, 0.2]) times.add(ms)
  expect(times.lately()?.p50).toBeLessThan(1.1)
  for (let i = 0; i < 10; i += 1) times.add(10_000_000)
  expect(times.lately()?.p50).toBeGreaterThan(60_000)
  expect(times.lately()?.p50).toBeLessThan(66_000)
})

test('an answer counts for at least 30 s and at most 60 s', () => {
  let now = 29_999
  const times = createAnswerTimes(() => now)
  times.add(100)
  now = 59_999
  times.add(1_000)
  expect(times.lately()?.p50).toBeLessThan(105)
  now = 60_000
  expect(times.lately()?.p50).toBeGreaterThan(950)
  now = 90_000
  expect(times.lately()).toBeUndefined()
})

test('after a pause of any length nothing from before counts', () => {
  let now = 0
  const times = createAnswerTimes(() => now)
  times.add(100)
  now = 61_000
  times.add(1_000)
  expect(times.lately()?.p50).toBeGreaterThan(950)
  now = 10 * 60_000
  expect(times.lately()).toBeUndefined()
})
