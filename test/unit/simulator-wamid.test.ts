// Pins: an outbound id carries its facts, and nothing that was not given out is taken for one.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BEHAVIOURS } from '../../packages/simulator/src/behaviours.ts'
import { inboundId, outboundId, readOutboundId } from '../../packages/simulator/src/wamid.ts'

const facts = fc.record({
  wire: fc.constantFrom('partner' as const, 'cloud' as const),
  to: fc.stringMatching(/^[1-9]\d{6,14}$/),
  acceptedMs: fc.integer({ min: 0, max: 2 ** 47 }),
  fateNumber: fc.constantFrom(null, ...BEHAVIOURS.map((one) => one.number)),
})

test('an id contains what it was made from', () => {
  fc.assert(
    fc.property(facts, (one) => {
      expect(readOutboundId(outboundId(one))).toEqual(one)
    }),
  )
})

test('ids of the same moment and recipient differ', () => {
  const one = { wire: 'cloud' as const, to: '491701234567', acceptedMs: 1_800_000_000_000, fateNumber: null }
  const ids = Array.from({ length: 10_000 }, () => outboundId(one))
  expect(new Set(ids).size).toBe(10_000)
})

test('an id has the shape of WhatsApp and fits into 128 characters', () => {
  fc.assert(
    fc.property(facts, (one) => {
      expect(outboundId(one)).toMatch(/^wamid\.HB[A-Za-z0-9+/]{40,119}={0,2}$/)
    }),
  )
})

test('an id with one character changed is not recognized', () => {
  fc.assert(
    fc.property(facts, fc.nat(), fc.constantFrom('A', 'Z', '0', '_', ' '), (one, at, character) => {
      const id = outboundId(one)
      const place = at % id.length
      const changed = id.slice(0, place) + character + id.slice(place + 1)
      fc.pre(changed !== id)
      expect(readOutboundId(changed)).toBeNull()
    }),
  )
})

test('any other text, and the id of an inbound message, is not recognized', () => {
  expect(readOutboundId(inboundId('491701234567'))).toBeNull()
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => readOutboundId(text) === null))
  fc.assert(fc.property(fc.base64String(), (text) => readOutboundId(`wamid.${text}`) === null))
})
