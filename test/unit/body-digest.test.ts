// Pins: the digest that an idempotency key is kept with stays what it was: a key that is 8 days old must fit its body.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { batchDigest, bodyDigest } from '../../src/redis/idempotency.ts'

test.each<[string, Record<string, unknown>]>([
  [
    'o8oK95wRkUZ72SdtRre_JgQJdw3',
    { type: 'image', to: '+49 170 1', image: { link: 'https://x.example/ü.png', caption: 'a\u2028"b"\n\ud800' } },
  ],
  [
    '_x5gKve9DHVy_WUqVpp3eFPPLQk',
    { b: [1, 1.5, 1e21, -0, null, true, { z: '', a: [] }], '10': 1, '9': 2, é: '\u0000', __proto_: {} },
  ],
])('%s is the digest of this body, as in earlier releases', (digest, body) => {
  expect(bodyDigest({ ...body, api_key: 'lw_x' })).toBe(digest)
})

test('the order of members does not matter, at any depth; everything else does', () => {
  const turned = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(turned)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, each]) => [name, turned(each)]),
    )
  }
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      expect(bodyDigest({ value: turned(value) })).toBe(bodyDigest({ value }))
      expect(bodyDigest({ value: [value] })).not.toBe(bodyDigest({ value }))
    }),
  )
})

test('a batch has the digest of its body', async () => {
  const items = [{ to: '1', type: 'audio' }, 5, null]
  const inSlices = async (all: readonly unknown[], work: (item: unknown) => string) => all.map(work)
  expect(await batchDigest(items, inSlices)).toBe(bodyDigest({ messages: items }))
})
