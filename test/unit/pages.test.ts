import { describe, expect, test } from 'vitest'
import { byAge, byId, byText, pageOfAll } from '../../src/producer/api/requests.ts'

const iso = (ms: number) => new Date(ms).toISOString()

describe('a list that is answered in pages', () => {
  test('continues after the last item of a page even if that item was removed meanwhile', () => {
    const keys = ['c', 'a', 'b', 'd'].map((id, index) => ({ id, created_at: iso(1_000 + Math.min(index, 2)) }))
    const first = pageOfAll(keys, byAge, { limit: 2 })
    expect(first.data.map(({ id }) => id)).toEqual(['c', 'a'])
    const rest = keys.filter(({ id }) => id !== 'a')
    const second = pageOfAll(rest, byAge, { limit: 2, cursor: first.next ?? '' })
    expect(second).toEqual({ data: [keys[2], keys[3]], next: null })
  })

  test.each([
    ['numbers', [2, 10, 9], byId, [2, 9, 10]],
    ['texts', ['b/en', 'a/en_GB', 'a/en', 'a.1/en'], byText, ['a.1/en', 'a/en', 'a/en_GB', 'b/en']],
  ] as const)('shows each item once, page by page, by %s', (_, ids, placeOf, expected) => {
    const items = ids.map((id) => ({ id })) as never[]
    const seen: unknown[] = []
    let cursor: string | null | undefined
    while (cursor !== null) {
      const page = pageOfAll<{ id: never }>(items, placeOf, { limit: 1, cursor })
      seen.push(...page.data.map(({ id }) => id))
      cursor = page.next
    }
    expect(seen).toEqual(expected)
  })

  test.each(['garbage', '', '-1', 'key_0f1e2d3c4b5a', '1.'])('refuses the cursor %j, which no page had', (cursor) => {
    expect(() => pageOfAll([{ id: 1 }], byId, { limit: 1, cursor })).toThrow('cursor')
  })
})
