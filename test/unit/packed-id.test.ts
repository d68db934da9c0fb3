// Pins: a packed id is its ULID again, sorts like it, and tells time and place.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  acceptedAtMs,
  ID_BYTES,
  newUlid,
  packPlace,
  packUlid,
  personHash,
  timeOf,
  unpackUlid,
} from '../../src/kernel/message-id.ts'
import { campaignMessageUlid, placeInId } from '../../src/model/campaigns/message-ids.ts'

const ulid = fc
  .tuple(fc.nat(2 ** 31), fc.uint8Array({ minLength: 16, maxLength: 16 }))
  .map(([seconds, random]) => newUlid(seconds * 1_000, random))

function packed(text: string): Buffer {
  const bytes = Buffer.alloc(ID_BYTES + 2)
  packUlid(text, bytes, 1)
  return bytes.subarray(1, ID_BYTES + 1)
}

test('a packed ULID is unpacked unchanged, with its time', () => {
  fc.assert(
    fc.property(ulid, (text) => {
      expect(unpackUlid(packed(text))).toBe(text)
      expect(timeOf(packed(text))).toBe(acceptedAtMs(text))
    }),
  )
  expect(unpackUlid(packed('7ZZZZZZZZZZZZZZZZZZZZZZZZZ'))).toBe('7ZZZZZZZZZZZZZZZZZZZZZZZZZ')
})

test('packed ids sort like the ids', () => {
  fc.assert(
    fc.property(ulid, ulid, (a, b) => {
      expect(Math.sign(Buffer.compare(packed(a), packed(b)))).toBe(a < b ? -1 : a > b ? 1 : 0)
    }),
  )
})

test("the id of a campaign's message begins with its start and its place", () => {
  fc.assert(
    fc.property(fc.nat(2 ** 25 - 1), fc.nat(2 ** 40), (place, startedAtMs) => {
      const bytes = packed(campaignMessageUlid('cmp_1_1', startedAtMs, place, '491700000001'))
      expect(placeInId(unpackUlid(bytes))).toBe(place)
      const made = Buffer.from(bytes)
      packPlace(startedAtMs, place, made, 0)
      expect(made.equals(bytes)).toBe(true)
    }),
  )
})

test('the hash of a person is the same on every machine', () => {
  expect(personHash('491700000001')).toBe(0x31036061)
  expect(personHash('')).toBe(0x811c9dc5)
})
