// Pins: a body that is parsed in slices is what JSON.parse makes of it, and nothing that is no JSON is let pass; a count
// does not depend on how the bytes were cut; a digest in pieces is the digest.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createJsonCount } from '../../src/producer/json-count.ts'
import { parseSliced } from '../../src/producer/sliced-json.ts'

const parsed = (text: string): Promise<unknown> => parseSliced(Buffer.from(text))
const plain = (text: string): unknown => {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return 'no JSON'
  }
}
const sliced = async (text: string): Promise<unknown> => {
  try {
    return { value: await parsed(text) }
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError)
    return 'no JSON'
  }
}

/** Makes any JSON large enough to be cut: many neighbours of it, on several levels. */
const grown = (value: unknown, times: number): unknown => ({
  a: Array.from({ length: times }, () => value),
  b: { c: [[value, Array.from({ length: times }, (_, n) => ({ [`name ${n}`]: value }))], value] },
  d: 'a text with , [ { ] } : " and \\ in it',
})

test('any JSON is what JSON.parse makes of it, small and large, in any white space', async () => {
  const property = fc.asyncProperty(
    fc.jsonValue(),
    fc.constantFrom(0, 1, 700),
    fc.nat(3),
    async (value, times, space) => {
      const text = JSON.stringify(times === 0 ? value : grown(value, times), null, space)
      expect(await parsed(text)).toEqual(JSON.parse(text))
    },
  )
  await fc.assert(property, { numRuns: 60 })
})

test('what one byte makes wrong is no JSON, as JSON.parse has it', async () => {
  const text = JSON.stringify(grown({ x: [1, 'y'] }, 400), null, 1)
  const property = fc.asyncProperty(
    fc.nat(text.length - 1),
    fc.constantFrom('', ',', '[', ']', '{', '}', ':', '"', '\\', '1', ' ', '1 ', ',,', '{}', '[]'),
    fc.boolean(),
    async (at, odd, instead) => {
      const wrong = text.slice(0, at) + odd + text.slice(at + (instead ? 1 : 0))
      expect(await sliced(wrong)).toEqual(plain(wrong))
    },
  )
  await fc.assert(property, { numRuns: 500 })
})

const many = Array.from({ length: 3_000 }, () => '{}').join(',')
test.each([
  `[${many},]`,
  `[,${many}]`,
  `[${many}]]`,
  `[${many}}`,
  `[[${many}] []]`,
  `[[${many}] 1]`,
  `[1 [${many}]]`,
  `{"a":1[${many}]}`,
  `{"a":[${many}] "b":1}`,
  `{"a":[${many}],}`,
  `{[${many}]}`,
  `{"a" [${many}]}`,
  `[${many}] x`,
  `x [${many}]`,
  `[${many}`,
  `[${many},"`,
])('%#: no JSON', async (text) => {
  expect(await sliced(text)).toBe('no JSON')
})

test('__proto__ is a name like any other, and a byte order mark is let pass', async () => {
  const text = `{"__proto__":[${many}],"a":{"__proto__":{"b":[${many}]}}}`
  expect(Object.keys(Object(await parsed(text)))).toEqual(['__proto__', 'a'])
  expect(JSON.stringify(await parsed(text))).toBe(text)
  expect(await parsed(`\uFEFF[${many}]`)).toHaveLength(3_000)
})

describe('a count', () => {
  test('does not depend on where the bytes are cut', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(fc.integer({ min: 1, max: 20 })), (value, cuts) => {
        const bytes = Buffer.from(JSON.stringify([value, 'a \\ " , [ text', value]))
        for (const most of [0, 3, 10, 10_000]) {
          const whole = createJsonCount(most).add(bytes)?.code
          const count = createJsonCount(most)
          let rest = bytes
          let code: string | undefined
          for (const cut of [...cuts, bytes.length]) {
            code ??= count.add(rest.subarray(0, cut))?.code
            rest = rest.subarray(cut)
          }
          expect(code).toBe(whole)
        }
      }),
    )
  })
})
