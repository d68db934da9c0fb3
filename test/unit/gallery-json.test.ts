import { expect, test } from 'vitest'
import { isoMicros } from '../../src/producer/api/gallery/json.ts'

test.each([
  [1_700_000_000_000_005, '2023-11-14T22:13:20.000005Z'],
  [1_700_000_000_120_040, '2023-11-14T22:13:20.120040Z'],
  [1_700_000_000_999_999, '2023-11-14T22:13:20.999999Z'],
])('%i microseconds are %s', (micros, text) => {
  expect(isoMicros(micros)).toBe(text)
})
