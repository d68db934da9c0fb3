// Pins: what WhatsApp says of a price is packed and read back: the usual words in two characters, any others as they are, up
// to 512 bytes, with nothing that names a person.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { datedPricing, pricingOf } from '../../src/model/messages/dated-pricing.ts'
import { packPricing, unpackPricing } from '../../src/model/messages/pricing.ts'

const back = (raw: unknown) => {
  const packed = packPricing(raw)
  return packed === undefined ? undefined : unpackPricing(packed)
}

const usual = fc.record(
  {
    billable: fc.boolean(),
    pricing_model: fc.constantFrom('PMP', 'CBP'),
    type: fc.constantFrom('regular', 'free_customer_service', 'free_entry_point'),
    category: fc.constantFrom(
      'marketing',
      'marketing_lite',
      'utility',
      'authentication',
      'service',
      'referral_conversion',
    ),
  },
  { requiredKeys: ['billable'] },
)

test('the usual labels take two characters and are read back', () => {
  fc.assert(
    fc.property(usual, (pricing) => {
      expect(packPricing(pricing)).toMatch(/^[0-9a-z]{2}$/)
      expect(back(pricing)).toEqual(pricing)
    }),
  )
})

test('codes stored by earlier releases keep their meaning forever', () => {
  const all = [
    ['1v', { billable: true, pricing_model: 'PMP', type: 'regular', category: 'marketing' }],
    ['4w', { billable: false, pricing_model: 'PMP', type: 'regular', category: 'utility' }],
    ['9n', { billable: false, pricing_model: 'PMP', type: 'free_customer_service', category: 'service' }],
  ] as const
  for (const [code, pricing] of all) expect([packPricing(pricing), unpackPricing(code)]).toEqual([code, pricing])
})

test.each<[string, object, object]>([
  ['a word that is new', { billable: true, type: 'free_of_late' }, { billable: true, type: 'free_of_late' }],
  [
    'a field that is new',
    { category: 'utility', tier: { name: 'A', upto: 100 } },
    { category: 'utility', tier: { name: 'A', upto: 100 } },
  ],
  ['figures as text', { billable: 'true', category: 'utility' }, { billable: true, category: 'utility' }],
  ['what is no text', { billable: true, category: 7 }, { billable: true, category: '7' }],
  ['an odd flag', { billable: 'perhaps' }, { billable_as_told: 'perhaps' }],
  ['a null', { billable: false, type: null }, { billable: false }],
  [
    'a number of a person',
    { billable: true, wa_id: '491700000001', n: 491700000001 },
    { billable: true, wa_id: '…', n: '…' },
  ],
])('%s is kept unchanged', (_what, raw, expected) => {
  expect(back(raw)).toEqual(expected)
})

test('of a price of more than 512 bytes only the known fields are kept', () => {
  const raw = {
    a: 'word '.repeat(200),
    b: 'x',
    billable: true,
    pricing_model: 'PMP',
    type: 'regular',
    category: 'new one',
  }
  const { a: _a, ...rest } = raw
  expect(back(raw)).toEqual(rest)
  expect(Buffer.byteLength(packPricing(raw) ?? '')).toBeLessThanOrEqual(512)
})

test.each([undefined, null, 'PMP', 5, [], {}, { billable: null }])('%j counts as no price', (raw) => {
  expect(packPricing(raw)).toBeUndefined()
})

describe('a price in a record', () => {
  const at = (atMs: number, status: 'sent' | 'delivered' = 'sent', packed = '1v') =>
    datedPricing(packed, { status, atMs, acceptedAtMs: 1_000_000 })

  test('is after its time, whatever that is', () => {
    const pricing = { billable: true, pricing_model: 'PMP', type: 'regular', category: 'marketing' }
    for (const atMs of [0, 1_000_000, 1_002_000, 9e12]) expect(pricingOf(at(atMs))).toEqual(pricing)
    expect(pricingOf(at(2e6, 'sent', '{"billable":true,"x":1}'))).toEqual({ billable: true, x: 1 })
    // A message is seldom sent later than a minute after it was accepted.
    expect(at(1_060_000).length).toBeLessThanOrEqual(5)
  })

  test.each(['', 'x', '{', '5{no json', '5zz!'])('%j, which nothing writes, is read without an exception', (stored) => {
    expect(() => pricingOf(stored)).not.toThrow()
  })
})
