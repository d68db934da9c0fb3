// Pins: docs/reference/http names every route of the table and no other, its JSON is that of the table, and so are the error
// codes of docs/reference/errors.md. That the table is what runs, route-access.slow.test.ts holds.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { DASHBOARD_PATH, ROUTES } from '../../src/producer/api/table.ts'
import { ERRORS } from '../../src/producer/error-codes.ts'
import { type Page, readHttpPages, readPage, readPages, tableUnder } from '../support/pages.ts'

const pages = readHttpPages()
const served = [...ROUTES.map(({ method, path }) => `${method.toUpperCase()} ${path}`), `GET ${DASHBOARD_PATH}`]

test('every route has its section, and every section its route', () => {
  const documented = pages.flatMap(({ prose }) =>
    Array.from(prose.matchAll(/^## ([A-Z]+ \/\S*)$/gm), ([, endpoint = '']) => endpoint),
  )
  expect(documented.sort()).toEqual(served.map((name) => name.replaceAll(/:(\w+)/g, '{$1}')).sort())
})

test('the JSON shown under a route is a valid answer or request of it', () => {
  let shown = 0
  const unfit: string[] = []
  for (const section of pages.flatMap(({ text }) => text.split(/^(?=## )/m))) {
    const [, method = '', path = ''] = /^## ([A-Z]+) (\/\S*)\n/.exec(section) ?? []
    const spec = ROUTES.find(
      (each) => each.method === method.toLowerCase() && each.path.replaceAll(/:(\w+)/g, '{$1}') === path,
    )
    if (spec === undefined) continue
    const answers = Object.values(spec.answers).flatMap((each) =>
      each instanceof z.ZodType ? each : (each.schema ?? []),
    )
    const asked = 'schema' in spec.body && spec.body.schema ? [spec.body.schema] : []
    for (const [, json = ''] of section.matchAll(/^```json\n([\s\S]*?)^```$/gm)) {
      shown += 1
      const faults = [...answers, ...asked].map((schema) => schema.safeParse(JSON.parse(json)).error)
      if (!faults.includes(undefined)) unfit.push(`${method} ${path} ${faults.join(' or ')} ${json}`)
    }
  }
  expect(unfit).toEqual([])
  expect(shown).toBeGreaterThan(10)
})

test('every address on a page is in the table', () => {
  const addresses = served.map((endpoint) => {
    const [method = '', path = ''] = endpoint.split(' ')
    return { method, path, first: path.split('/')[1], pattern: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`) }
  })
  const isWrong = (method: string | undefined, path: string): boolean => {
    const [bare = ''] = path.split('?')
    // Without a method it may be what several begin with, or a path of something else.
    if (method === undefined && addresses.some(({ path }) => path.startsWith(`${bare}/`))) return false
    if (method === undefined && !addresses.some(({ first }) => first === bare.split('/')[1])) return false
    return !addresses.some((each) => each.pattern.test(bare) && each.method === (method ?? each.method))
  }
  const named = (page: Page) => [
    ...page.code.map((code) => /^(?:(GET|POST|PUT|PATCH|DELETE) )?(\/[\w/{}.?=&-]*\w[\w/{}]*)$/.exec(code)),
    ...page.shell.flatMap((line) => [...line.matchAll(/()(?:http:\/\/127\.0\.0\.1:3000|\$BASE)(\/[^\s'"]+)/g)]),
  ]
  const wrong = readPages()
    // The simulator has addresses of its own; what was and what comes is told in the changelog and the decisions.
    .filter(({ path }) => !/simulator\.md|CHANGELOG|adr\//.test(path))
    .flatMap((each) =>
      named(each).flatMap((match) =>
        match?.[2] !== undefined && isWrong(match[1] || undefined, match[2]) ? [`${each.path}: ${match[0]}`] : [],
      ),
    )
  expect(wrong).toEqual([])
  expect(isWrong('POST', '/campaigns/cmp_2_1/begin')).toBe(true)
  expect(isWrong(undefined, '/admin/queues')).toBe(true)
})

test('the error table of the page has exactly the error codes, with their statuses', () => {
  const rows = tableUnder(readPage('docs/reference/errors.md'), 'Codes').filter(([, code]) => code?.startsWith('`'))
  const documented = rows.flatMap(([status, codes = '']) =>
    Array.from(codes.matchAll(/`(\w+)`/g), ([, code]) => `${status} ${code}`),
  )
  const declared = Object.entries(ERRORS).flatMap(([status, codes]) =>
    Object.keys(codes).map((code) => `${status} ${code}`),
  )
  // Only in the results of a batch, which have no status.
  expect(documented.filter((each) => /^\d/.test(each)).sort()).toEqual(declared.sort())
  const sources = ['src/producer', 'src/messages/accept', 'src/campaigns'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(folder, name), 'utf8')),
  )
  const thrown = sources.flatMap((text) =>
    Array.from(text.matchAll(/new ApiError\(\s*(\d{3}),\s*'(\w+)'/g), ([, status, code]) => `${status} ${code}`),
  )
  expect(thrown.length).toBeGreaterThan(10)
  expect(thrown.filter((each) => !documented.includes(each))).toEqual([])
  const refusals = sources.flatMap((text) =>
    Array.from(
      text.matchAll(/new Refusal\(\s*'\w+',\s*'(\w+)'|code = '(\w+)'/g),
      ([, own, usual]) => own ?? usual ?? '',
    ),
  )
  expect(refusals).toContain('unknown_sender')
  const codes = documented.map((each) => each.split(' ')[1])
  expect(refusals.filter((code) => !codes.includes(code))).toEqual([])
})
