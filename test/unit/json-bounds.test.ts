// Pins: the bounds of JSON that are checked before it is parsed, on whatever JSON, and that a body as costly as they allow
// is parsed in a short time.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_DEPTH, MEMBERS_MAX, NAMES_MAX } from '../../src/kernel/body-limits.ts'
import { assertJsonBounds } from '../../src/producer/body.ts'
import { ApiError } from '../../src/producer/errors.ts'

function refused(text: string, valuesMax = 1_000_000): string | undefined {
  try {
    assertJsonBounds(Buffer.from(text), valuesMax)
    return undefined
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return error.message
  }
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null
const depthOf = (value: unknown): number =>
  isContainer(value) ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
/** Commas and opening brackets. */
const valuesOf = (value: unknown): number => {
  if (!isContainer(value)) return 0
  const inside = Object.values(value)
  return 1 + Math.max(0, inside.length - 1) + inside.reduce((sum: number, each) => sum + valuesOf(each), 0)
}

test('depth and values are those of the parsed JSON, whatever its texts contain', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(3), (json, space) => {
      const value = [json, 'a \\ " , [ { : text']
      const text = JSON.stringify(value, null, space)
      expect(refused(text, valuesOf(value))).toBeUndefined()
      expect(refused(text, valuesOf(value) - 1)).toContain('values')
      const nested = `${'['.repeat(MAX_DEPTH - depthOf(value))}${text}${']'.repeat(MAX_DEPTH - depthOf(value))}`
      if (depthOf(value) > MAX_DEPTH) return
      expect(refused(nested)).toBeUndefined()
      expect(refused(`[${nested}]`)).toContain('nested deeper')
    }),
  )
})

test('names with colliding hashes count as different names', () => {
  // `Aa` and `BB` are the same under the hash that many programs use.
  const names = Array.from({ length: 4_096 }, (_, n) =>
    Array.from({ length: 12 }, (_bit, at) => ((n >> at) % 2 === 0 ? 'Aa' : 'BB')).join(''),
  )
  const text = names.map((name) => `{"${name}":0}`).join(',')
  expect(refused(`[${text}]`)).toContain(`${NAMES_MAX} different names`)
})

const members = (count: number, name = 'n') =>
  `{${Array.from({ length: count }, (_, n) => `"${name}${n}":0`).join(',')}}`
test.each([
  [members(MEMBERS_MAX), undefined],
  [members(MEMBERS_MAX + 1), 'members in one object'],
  [`[${members(1_000, 'a')},${members(1_000, 'b')}]`, undefined],
  [`[${members(1_000, 'a')},${members(1_000, 'b')},{"c":1}]`, `${NAMES_MAX} different names`],
  // The same names again and again, as in the messages of a batch.
  [`[${Array.from({ length: 500 }, () => members(100)).join(',')}]`, undefined],
])('%#: members and names', (text, fault) => {
  if (fault === undefined) expect(refused(text)).toBeUndefined()
  else expect(refused(text)).toContain(fault)
})
