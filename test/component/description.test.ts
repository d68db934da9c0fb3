// Pins: the description is served without a key as JSON and as a page, can be cached, and the page works alone.
import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { z } from 'zod'
import { ROUTES } from '../../src/producer/api/table.ts'
import { serviceTest } from '../support/fixtures.ts'

const test = serviceTest({ worker: false }).extend(
  'get',
  { scope: 'file' },
  ({ service }) =>
    (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      // Otherwise fetch says no-cache for who names an ETag himself.
      service.api.open(path, { headers: { 'cache-control': 'max-age=0', ...headers }, method }),
)

test('the description is JSON with its version and every address', async ({ get }) => {
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

test.for(['/openapi.json', '/docs'])('%s is not sent again to a client that has it', async (path, { get }) => {
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

test('the page needs no other host and no script but its own, and its policy allows neither', async ({ get }) => {
  const answer = await get('/docs')
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const html = await answer.text()
  const [, script = ''] = /<script type="module">([\s\S]*?)<\/script>/.exec(html) ?? []
  const page = html.replace(script, '')
  expect(script.length).toBeGreaterThan(100_000)
  expect(page.match(/<script/g)).toHaveLength(1)
  expect(page).not.toMatch(/<img|<iframe|<link|<form|\son\w+=|javascript:/i)
  expect(page).not.toMatch(/(?:src|href|url)="(?!\/openapi\.json")/)
  expect(page).toContain('<html lang="en">')
  const hash = createHash('sha256').update(script).digest('base64')
  expect(answer.headers.get('content-security-policy')).toBe(
    `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; ` +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  )
})
