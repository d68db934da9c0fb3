// Pins docs/how-it-works/security.md: every control, risk and finding of its tables names tests that are there.
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readPage, tableUnder } from '../support/pages.ts'

const page = readPage('docs/how-it-works/security.md')

describe.each([
  ['Checklist', 24],
  ['OWASP API Security Top 10 (2023)', 10],
  ['Findings of the review, answered', 25],
])('each row of "%s"', (heading, count) => {
  const rows = tableUnder(page, heading)

  test('exists', () => {
    expect(rows.length).toBe(count)
  })

  test('names tests that exist', () => {
    for (const row of rows) {
      const named = [...(row.at(-1) ?? '').matchAll(/`(test\/[\w./-]+)`/g)].map((match) => match[1] ?? '')
      expect(named.length, row[0]).toBeGreaterThan(0)
      expect(named.filter((path) => !existsSync(path))).toEqual([])
    }
  })
})
