// Pins: an id of the chat product is the same again, takes 40 of 100 of the room at most when it has its usual shape, and was packed
// alike by every release.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inboundId, outboundId } from '../../simulator/wamid.ts'
import { packProviderId, unpackProviderId } from '../../src/messages/message-id.ts'

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

test('any id is itself again', () => {
  const ids = fc.oneof(fc.string({ unit: 'binary', maxLength: 130 }), shaped, changed)
  fc.assert(
    fc.property(ids, (id) => {
      const stored = packProviderId(id)
      expect(unpackProviderId(stored)).toBe(id)
      expect(Buffer.byteLength(stored)).toBeLessThanOrEqual(Buffer.byteLength(id) + 1)
    }),
    { numRuns: 5_000 },
  )
})

test.each([
  ['of the chat product', SAMPLE, 17],
  [
    'of the simulator',
    outboundId({ wire: 'cloud', to: '447700900102', acceptedMs: 1_795_647_629_033, fateNumber: null }),
    26,
  ],
])('an id %s takes less than 40 of 100', (_whose, id, bytes) => {
  const stored = packProviderId(id)
  expect(Buffer.byteLength(stored)).toBe(bytes)
  expect(bytes).toBeLessThan(id.length * 0.4)
  expect(unpackProviderId(stored)).toBe(id)
})

test('ids with numbers at the edge of a character, and the longest one, are themselves again', () => {
  for (const number of ['1', '127', '128', '16383', '16384', '2097152']) {
    const id = idOf(number, 'AB')
    expect(unpackProviderId(packProviderId(id))).toBe(id)
  }
  const longest = idOf('9'.repeat(15), 'F'.repeat(64))
  const [first, second] = [packProviderId(longest), packProviderId(SAMPLE)]
  expect(Buffer.byteLength(first)).toBe(46)
  expect([unpackProviderId(first), unpackProviderId(second)]).toEqual([longest, SAMPLE])
})

test.each([
  ['that a person’s message has', inboundId('447700900102')],
  ['that is no wamid', 'partner-7c2f'],
  ['that marks its number otherwise', idOf('491', 'AB').replace('HBg', 'HBk')],
  [
    'whose number begins with 0',
    `wamid.${Buffer.from('\x1c\x18\x020\x31\x15\x02\0\x11\x18\x02AB\0', 'latin1').toString('base64')}`,
  ],
])('an id %s is kept as it is', (_which, id) => {
  expect(packProviderId(id)).toBe(id)
})

test('an id that begins like a packed one is told from it', () => {
  for (const id of ['\0', '\u0001AB', '\u0006wamid']) {
    expect(packProviderId(id)).toBe(`\0${id}`)
    expect(unpackProviderId(packProviderId(id))).toBe(id)
  }
})

test('what an earlier release has packed is read', () => {
  const stored = Buffer.from(packProviderId(SAMPLE), 'latin1').toString('hex')
  expect(stored).toBe('053d3d546e0f411b7a044d1a287f024437')
  expect(unpackProviderId(Buffer.from(stored, 'hex').toString('latin1'))).toBe(SAMPLE)
})
