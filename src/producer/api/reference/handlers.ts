// The description of the interface, as a document and as a page: made by the build, and read at the first request. Where
// nothing was built, as in tests that load the sources, it is made then.

import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { bind, type Route } from '../../bind.ts'
import { reference } from './routes.ts'

/** A proxy may keep it and has to ask whether it is still current: each version of the service has another one. */
const CACHED = { 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff' }

export const referenceRoutes = (): Route[] =>
  bind(reference)({
    async openapi() {
      const { text, etag } = (await published()).document
      // Tools that run in a browser read it from other pages; it holds nothing of an account.
      const headers = { ...CACHED, ETag: etag, 'Access-Control-Allow-Origin': '*' }
      return { headers: { ...headers, 'Content-Type': 'application/json; charset=utf-8' }, text }
    },
    async docs() {
      const { text, etag, policy } = (await published()).page
      const headers = { ...CACHED, ETag: etag, 'Content-Security-Policy': policy, 'Referrer-Policy': 'no-referrer' }
      return { headers: { ...headers, 'Content-Type': 'text/html; charset=utf-8' }, text }
    },
  })

/**
 * A text and its ETag. All requests share its bytes: encoding 400 KB for each took 1 ms of CPU time, and kept them for as
 * long as a client took to read them.
 */
const text = { text: z.string().transform((whole) => Buffer.from(whole)), etag: z.string() }
const publishedSchema = z.strictObject({
  /** JSON. */
  document: z.strictObject(text),
  /** HTML, and its Content-Security-Policy. */
  page: z.strictObject({ ...text, policy: z.string() }),
})
let known: ReturnType<typeof read> | undefined

function published(): ReturnType<typeof read> {
  known ??= read()
  return known
}

async function read(): Promise<z.infer<typeof publishedSchema>> {
  const built = await readFile(new URL('../../openapi/published.json', import.meta.url), 'utf8').catch(() => undefined)
  if (built !== undefined) return publishedSchema.parse(JSON.parse(built))
  const { publish } = await import('../../openapi/publish.ts')
  return publishedSchema.parse(publish())
}
