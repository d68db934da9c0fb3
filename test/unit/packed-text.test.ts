// Pins: what is packed is the same text again, takes about half the room, and was packed alike by every release.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { packText, unpackText } from '../../src/messages/packed-text.ts'

const SAMPLE = 'Hello Anna, your order is ready. We will see you soon!'

test('any text is itself again, or is not packed', () => {
  const words = fc.array(fc.constantFrom('your', 'order', ' ', ', ', 'é', '12', '\n', '\0', '😀', 'नमस्ते'))
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    words.map((all) => all.join('')),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const packed = packText(text)
      if (packed === undefined) return
      expect(unpackText(packed)).toBe(text)
      expect(packed.length).toBeLessThan(Buffer.byteLength(text))
      expect(Buffer.byteLength(packed)).toBe(packed.length)
    }),
    { numRuns: 1_000 },
  )
})

test('a text of 200 English characters takes less than 120 bytes', () => {
  const text =
    'A gentle reminder from the library: the three books that you borrowed must be returned by next Thursday, otherwise ' +
    'a small fee is charged for each day. You can also extend the loan on our page or'
  expect(text.length).toBeGreaterThan(190)
  expect(packText(text)?.length).toBeLessThan(120)
})

test('what an earlier release has packed is read', () => {
  const stored = '68023e3e5c7333470a2e4b41375f1e213529023a37594219144b561d4a7f'
  expect(unpackText(Buffer.from(stored, 'hex').toString('latin1'))).toBe(SAMPLE)
  expect(Buffer.from(packText(SAMPLE) ?? '', 'latin1').toString('hex')).toBe(stored)
})

test.each(['', 'a', 'नमस्ते आपका ऑर्डर', 'x'.repeat(10_000)])(
  'what would not be shorter, or is very long, is not packed: %#',
  (text) => {
    expect(packText(text)).toBeUndefined()
  },
)

test('what is damaged is read without a fault', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(typeof unpackText(text)).toBe('string')
    }),
  )
})
