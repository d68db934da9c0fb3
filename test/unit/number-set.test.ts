// Pins: the set of numbers is a set.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createNumberSet } from '../../src/model/campaigns/number-set.ts'

test('every number is new once, and known afterwards', () => {
  const phone = fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 10_000, max: 999_999_999_999_999 }))
  fc.assert(
    fc.property(fc.array(phone, { maxLength: 300 }), (numbers) => {
      const [ours, theirs] = [createNumberSet(), new Set<number>()]
      for (const number of numbers) {
        expect(ours.add(number)).toBe(!theirs.has(number))
        theirs.add(number)
      }
      expect(ours.size()).toBe(theirs.size)
    }),
  )
})

test('every number stays known while the set grows, also with consecutive numbers', () => {
  const numbers = createNumberSet()
  let isNew = 0
  for (let round = 0; round < 2; round += 1) {
    for (let i = 0; i < 100_000; i += 1) isNew += numbers.add(491_700_000_000 + i) ? 1 : 0
    expect(isNew).toBe(100_000)
  }
  expect(numbers.size()).toBe(100_000)
})
