// Pins: docs/interface.md names every endpoint of a running producer and no other, and every error code with its status.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { DASHBOARD_PATH } from '../../src/producer/dashboard.ts'
import { startProducer } from '../../src/producer/main.ts'
import { silentLog } from '../support/app.ts'
import { readPage, tableUnder } from '../support/pages.ts'
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
