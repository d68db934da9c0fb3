// Pins: the description is served without a key as JSON and as a page, can be cached, and the page works alone.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { ROUTES } from '../../src/producer/api/table.ts'
import { type Service, startService } from '../support/service.ts'

let service: Service
beforeAll(async () => {
  service = await startService({ worker: false })
})
afterAll(() => service?.close())

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  // Otherwise fetch says no-cache for who names an ETag himself.
  fetch(`${service.url}${path}`, { headers: { 'cache-control': 'max-age=0', ...headers }, method })

test('the description is JSON that names its version and has every address', async () => {
  const answer = await get('/openapi.json')
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  const shape = z.object({
    openapi: z.literal('3.1.1'),
    info: z.object({ version: z.string().regex(/^\d+\.\d+\.\d+/) }),
    paths: z.record(z.string(), z.unknown()),
    webhooks: z.object({ cloudApiStatus: z.object({}), cloudApiMessage: z.object({}) }),
  })
  const { paths } = shape.parse(await answer.json())
  for (const { path } of ROUTES) expect(Object.keys(paths)).toContain(path.replaceAll(/:(\w+)/g, '{$1}'))
})

test.each(['/openapi.json', '/docs'])('%s is sent once to who keeps it', async (path) => {
  const first = await get(path)
  const text = await first.text()
  const etag = first.headers.get('etag') ?? ''
  expect(etag).toMatch(/^"[\w-]{22}"$/)
  expect(first.headers.get('cache-control')).toBe('no-cache')
  const again = await get(path, { 'if-none-match': etag })
  expect([again.status, await again.text()]).toEqual([304, ''])
  const other = await get(path, { 'if-none-match': '"another"' })
  expect([other.status, await other.text()]).toEqual([200, text])
  const head = await get(path, {}, 'HEAD')
  expect([head.status, await head.text()]).toEqual([200, ''])
  expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(text)))
  expect((await get(path, {}, 'POST')).status).toBe(405)
})

test('the page shows every operation, and links to the description', async () => {
  const answer = await get('/docs')
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const html = await answer.text()
  for (const { method, path } of ROUTES) {
    const shown = `${method.toUpperCase()}</span> <code>${path.replaceAll(/:(\w+)/g, '{$1}')}</code>`
    expect(html).toContain(shown)
  }
  expect(html).toContain('href="/openapi.json"')
})

test('the page needs no script and no other host, and its policy lets it have neither', async () => {
  const answer = await get('/docs')
  const html = await answer.text()
  expect(html).not.toMatch(/<script|<img|<iframe|<link|<form|\son\w+=|\sstyle=|javascript:/i)
  expect(html).not.toMatch(/(?:src|href)="(?!#|\/openapi\.json")/)
  const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? ''
  expect(style).not.toMatch(/url\(|@import/)
  const hash = createHash('sha256').update(style).digest('base64')
  expect(answer.headers.get('content-security-policy')).toBe(
    `default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-${hash}'`,
  )
})

test('every link in the page leads somewhere in it, and no two places have one name', async () => {
  const html = await (await get('/docs')).text()
  const places = Array.from(html.matchAll(/\sid="([^"]+)"/g), ([, id]) => id)
  expect(new Set(places).size).toBe(places.length)
  const links = Array.from(html.matchAll(/href="#([^"]+)"/g), ([, id]) => id)
  expect(links.length).toBeGreaterThan(100)
  expect(links.filter((id) => !places.includes(id))).toEqual([])
})

test('the page can be read without seeing it: language, headings in order, tables with heads, a way past the menu', async () => {
  const html = await (await get('/docs')).text()
  expect(html).toContain('<html lang="en">')
  expect(html).toContain('<a class="skip" href="#content">')
  const levels = Array.from(html.matchAll(/<h([1-6])/g), ([, level]) => Number(level))
  expect(levels.filter((level) => level === 1)).toHaveLength(1)
  levels.forEach((level, place) => {
    expect(level).toBeLessThanOrEqual((levels[place - 1] ?? 0) + 1)
  })
  const tables = html.match(/<table>/g) ?? []
  expect(html.match(/<caption>/g)).toHaveLength(tables.length)
  expect(html.match(/<th scope="col">/g)?.length).toBeGreaterThan(tables.length)
})
