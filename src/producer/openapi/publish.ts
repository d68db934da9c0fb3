// Makes what describes the interface, whole and as it is served. Some 300 ms of CPU time, in which nobody is answered:
// the build does it (scripts/build.mjs), not a producer.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { docsPage } from '../docs/page.ts'
import { createDescription } from './document.ts'

/** The description of this version as JSON, and the page for people. */
export function publish() {
  const document = createDescription(versionOf())
  const { html, policy } = docsPage(document)
  return { document: served(JSON.stringify(document)), page: { ...served(html), policy } }
}

function served(text: string): { text: string; etag: string } {
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` }
}

/** Found from here as well as from the compiled file: src/ and dist/ both lie beside package.json. */
function versionOf(): string {
  const path = new URL('../../../package.json', import.meta.url)
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(path, 'utf8'))).version
}
