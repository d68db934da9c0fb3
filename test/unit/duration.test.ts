import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseDuration } from '../../src/kernel/moment.ts'

test.each([
  ['90s', 90_000],
  ['30m', 1_800_000],
  ['1h', 3_600_000],
  ['7d', 604_800_000],
  ['3653d', 315_619_200_000],
])('%s is %i ms', (text, ms) => expect(parseDuration(text)).toBe(ms))

test.each(['', '1', 'h', '0s', '-1h', '1.5h', '1w', '1y', '1H', '1h30m', ' 1h', '1h ', '3654d', '999999999d', '٣h'])(
  '"%s" is not a duration',
  (text) => expect(parseDuration(text)).toBeUndefined(),
)

test('no text makes it throw or return anything but a whole number of milliseconds within ten years', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^\d{1,12}[smhd]$/)), (text) => {
      const ms = parseDuration(text)
      if (ms === undefined) return
      expect(Number.isSafeInteger(ms)).toBe(true)
      expect(ms).toBeGreaterThan(0)
      expect(ms).toBeLessThanOrEqual(3_653 * 86_400_000)
    }),
  )
})
