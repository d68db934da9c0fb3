// The description of the interface, as a document and as a page.
import { bind, type Route } from '../../bind.ts'
import { published } from '../../openapi/published.ts'
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
