// The description as it is served: made once in the life of a process, when somebody first asks for it.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** A text to serve, and what tells one version of it from another. */
export interface Published {
  text: string
  etag: string
}

let json: Promise<Published> | undefined
let page: Promise<Published & { policy: string }> | undefined

/** The document as JSON. */
export function publishedDocument(): Promise<Published> {
  json ??= describe().then((document) => published(JSON.stringify(document)))
  return json
}

/** The page for people, with the Content-Security-Policy that it works under. */
export function publishedPage(): Promise<Published & { policy: string }> {
  page ??= (async () => {
    const { docsPage } = await import('../docs/page.ts')
    const { html, policy } = docsPage(await describe())
    return { ...published(html), policy }
  })()
  return page
}

/** Loads what makes it only now: a producer that is never asked pays nothing for it, and starts no later. */
async function describe() {
  const { createDescription } = await import('./document.ts')
  return createDescription(versionOf())
}

function published(text: string): Published {
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` }
}

/** Found from here as well as from the compiled file: src/ and dist/ both lie beside package.json. */
function versionOf(): string {
  const path = new URL('../../../package.json', import.meta.url)
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(path, 'utf8'))).version
}
