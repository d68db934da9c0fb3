// Pins: the packed history of a message is unpacked as it was written, and what cannot be read drops nothing else.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HISTORY_EVENTS, readHistory } from '../../src/model/messages/history.ts'

const entry = fc.record({
  code: fc.constantFrom(...Object.keys(HISTORY_EVENTS)),
  ms: fc.integer({ min: -10_000, max: 1e12 }),
  detail: fc.string({ maxLength: 20 }).filter((text) => !text.includes('|')),
})

test('every entry is read back with its time and its detail, and no time is before that of the entry before', () => {
  fc.assert(
    fc.property(
      fc.array(entry, { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 0, max: 2e12 }),
      (told, accepted) => {
        const packed = told.map(
          ({ code, ms, detail }) => `${code}${ms.toString(36)}${detail === '' ? '' : `,${detail}`}`,
        )
        const read = readHistory(packed.join('|'), accepted)
        const latest = told.map((_each, i) => Math.max(...told.slice(0, i + 1).map(({ ms }) => ms)))
        expect(read.map(({ code, atMs, detail }) => ({ code, ms: atMs - accepted, detail }))).toEqual(
          told.map((each, i) => ({ ...each, ms: latest[i] })),
        )
      },
    ),
  )
})

test('an unreadable entry drops no neighbour', () => {
  const codes = readHistory('c5|?|s2k||zz9|d1f4,x,y|5', 0).map(({ code, detail }) => `${code} ${detail}`)
  expect(codes).toEqual(['c ', 's ', 'd x,y'])
  expect(readHistory('', 0)).toEqual([])
})
