// Pins: an id of WhatsApp is the same again, and takes 60 of 100 of the room at most when it has its usual shape.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inboundId, outboundId } from '../../packages/simulator/src/wamid.ts'
import { restoreProviderId, shortenProviderId } from '../../src/kernel/message-id.ts'

const SAMPLE = 'wamid.HBgLMTY1MDM4Nzk0MzkVAgARGBI4MjZGRDA0OUE2OTQ3RkEyMzcA'

/** An id of the usual shape. */
function idOf(number: string, id: string, direction = 0x11): string {
  const head = Buffer.from([0x1c, 0x18, number.length, ...Buffer.from(number), 0x15, 0x02, 0x00, direction, 0x18])
  return `wamid.${Buffer.concat([head, Buffer.from([id.length]), Buffer.from(id), Buffer.from([0])]).toString('base64')}`
}

const digits = fc.stringMatching(/^\d{0,17}$/)
const hex = fc.stringMatching(/^[0-9A-Fa-f]{0,70}$/)
const shaped = fc.tuple(digits, hex, fc.constantFrom(0x11, 0x12)).map((parts) => idOf(...parts))
const changed = fc
  .tuple(shaped, fc.nat(100), fc.constantFrom('', '=', 'A', '-', '_', ' ', '\0'))
  .map(([id, at, by]) => {
    return id.slice(0, at) + by + id.slice(at + 1)
  })

test('any id is restored unchanged', () => {
  const ids = fc.oneof(fc.string({ unit: 'binary', maxLength: 130 }), shaped, changed)
  fc.assert(
    fc.property(ids, (id) => {
      const stored = shortenProviderId(id)
      expect(restoreProviderId(stored)).toBe(id)
      expect(Buffer.byteLength(stored)).toBeLessThanOrEqual(Buffer.byteLength(id) + 1)
    }),
    { numRuns: 5_000 },
  )
})

test.each([
  ['of WhatsApp', SAMPLE, 31],
  [
    'of the simulator',
    outboundId({ wire: 'cloud', to: '447700900102', acceptedMs: 1_795_647_629_033, fateNumber: null }),
    46,
  ],
])('an id %s takes less than three fifths of its length', (_whose, id, bytes) => {
  const stored = shortenProviderId(id)
  expect(Buffer.byteLength(stored)).toBe(bytes)
  expect(bytes).toBeLessThan(id.length * 0.6)
  expect(restoreProviderId(stored)).toBe(id)
})

test('ids with numbers of any length, and the longest one, are restored unchanged', () => {
  for (const number of ['1', '127', '128', '16383', '16384', '2097152']) {
    const id = idOf(number, 'AB')
    expect(restoreProviderId(shortenProviderId(id))).toBe(id)
  }
  const longest = idOf('9'.repeat(15), 'F'.repeat(64))
  const [first, second] = [shortenProviderId(longest), shortenProviderId(SAMPLE)]
  expect(Buffer.byteLength(first)).toBe(81)
  expect([restoreProviderId(first), restoreProviderId(second)]).toEqual([longest, SAMPLE])
})

test.each([
  ['that a person’s message has', inboundId('447700900102')],
  ['that is no wamid', 'partner-7c2f'],
  ['that marks its number otherwise', idOf('491', 'AB').replace('HBg', 'HBk')],
])('an id %s is stored unchanged', (_which, id) => {
  expect(shortenProviderId(id)).toBe(id)
})

test('an id that begins like a shortened one is distinguished from it', () => {
  for (const id of ['\u0001', '\u0001AB', '\u0002wamid']) {
    expect(shortenProviderId(id)).toBe(`\u0002${id}`)
    expect(restoreProviderId(shortenProviderId(id))).toBe(id)
  }
})
