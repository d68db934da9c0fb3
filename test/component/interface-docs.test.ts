// Pins: docs/interface.md names every endpoint of a running producer and no other, and every error code with its status.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { DASHBOARD_PATH } from '../../src/producer/dashboard.ts'
import { startProducer } from '../../src/producer/main.ts'
import { silentLog } from '../support/app.ts'
import { type Page, readPage, readPages, tableUnder } from '../support/pages.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { routesOf } from '../support/routes.ts'

const page = readPage('docs/interface.md')
const dataDir = mkdtempSync(join(tmpdir(), 'laneway-data-'))
let redis: TestRedis
let producer: { url: string; close: () => Promise<void> }

beforeAll(async () => {
  redis = await startRedis()
  producer = await startProducer(loadConfig({ PORT: '0', LANEWAY_DATA_DIR: dataDir }), redis.url, silentLog)
})
afterAll(async () => {
  await producer.close()
  await redis.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

test('every endpoint has its section, and every section its endpoint', async () => {
  const documented = Array.from(page.prose.matchAll(/^### ([A-Z]+ \/\S*)$/gm), ([, endpoint = '']) => endpoint)
  const served = (await routesOf(producer.url))
    // The same addresses with their id left out, which answer that it is missing.
    .filter((endpoint) => !/\/$|\/\//.test(endpoint))
    .map((endpoint) => endpoint.replaceAll(/:(\w+)/g, '{$1}'))
  expect(documented.sort()).toEqual([...served, `GET ${DASHBOARD_PATH}`].sort())
})

test('every address that a page names is served', async () => {
  const served = [...(await routesOf(producer.url)), `GET ${DASHBOARD_PATH}`].map((endpoint) => {
    const [method = '', path = ''] = endpoint.split(' ')
    return { method, path, first: path.split('/')[1], pattern: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`) }
  })
  const isWrong = (method: string | undefined, path: string): boolean => {
    const [bare = ''] = path.split('?')
    // Without a method it may be what several begin with, or a path of something else.
    if (method === undefined && served.some(({ path }) => path.startsWith(`${bare}/`))) return false
    if (method === undefined && !served.some(({ first }) => first === bare.split('/')[1])) return false
    return !served.some((each) => each.pattern.test(bare) && each.method === (method ?? each.method))
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

test('every error code is in the table, with its status', () => {
  const rows = tableUnder(page, 'What all endpoints share').filter(([, code]) => code?.startsWith('`'))
  const documented = rows.flatMap(([status, codes = '']) =>
    Array.from(codes.matchAll(/`(\w+)`/g), ([, code]) => `${status} ${code}`),
  )
  const sources = ['src/producer', 'src/accept', 'src/campaigns'].flatMap((folder) =>
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
