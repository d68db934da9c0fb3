// Pins: what counts as too large, and that a value which is far beyond the limit is not written out to learn that.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { takesMoreThan } from '../../src/kernel/json-size.ts'

test('a value takes as many bytes as its JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const bytes = Buffer.byteLength(JSON.stringify(value))
      expect(takesMoreThan(value, bytes)).toBe(false)
      expect(takesMoreThan(value, bytes - 1)).toBe(true)
    }),
  )
})

test('a value of more values or characters than bytes are allowed is not written out', () => {
  const writtenOut = {
    toJSON: () => {
      throw new Error('it was written out')
    },
  }
  expect(takesMoreThan({ more: 'x'.repeat(1_000), writtenOut }, 1_000)).toBe(true)
  expect(takesMoreThan({ more: Array.from({ length: 1_001 }, () => 0), writtenOut }, 1_000)).toBe(true)
})
