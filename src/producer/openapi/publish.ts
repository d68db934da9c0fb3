// Makes what is served of the description: the document, and the page for people, OpenAPI Explorer reading the document.
// That takes 300 ms of CPU time, so the build does it (scripts/build.mjs) and not a producer.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { z } from 'zod'
import { createDescription } from './document.ts'

const EXPLORER = 'openapi-explorer/dist/browser/openapi-explorer.min.js'

/** The description of this version as JSON, and the page with the policy that it works under. */
export function publish() {
  return { document: served(JSON.stringify(createDescription(versionOf()))), page: page() }
}

function served(text: string): { text: string; etag: string } {
  return { text, etag: `"${digestOf(text, 'base64url').slice(0, 22)}"` }
}

/**
 * One page with its script inside, so that it needs no other address than the document. The script is admitted by its
 * hash. It writes styles into the page, for which no hash is known beforehand.
 */
function page() {
  const script = readFileSync(createRequire(import.meta.url).resolve(EXPLORER), 'utf8').replaceAll(
    '</script',
    '<\\/script',
  )
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Laneway: HTTP interface</title>
<style>body { margin: 0 }</style>
</head>
<body>
<noscript>This page needs JavaScript. The same for programs: <a href="/openapi.json">/openapi.json</a></noscript>
<openapi-explorer spec-url="/openapi.json" hide-server-selection hide-authentication hide-console schema-style="table"
regular-font="system-ui, sans-serif" mono-font="ui-monospace, monospace" primary-color="#0b6b50" nav-bg-color="#16241f"
nav-text-color="#dfe9e5" nav-hover-bg-color="#24402f" nav-hover-text-color="#ffffff" nav-accent-color="#5fd0a8">
</openapi-explorer>
<script type="module">${script}</script>
</body>
</html>
`
  const policy = [
    ...["default-src 'none'", `script-src 'sha256-${digestOf(script, 'base64')}'`, "style-src 'unsafe-inline'"],
    ...["connect-src 'self'", 'img-src data:', "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ]
  return { ...served(html), policy: policy.join('; ') }
}

const digestOf = (text: string, encoding: 'base64' | 'base64url'): string =>
  createHash('sha256').update(text).digest(encoding)

/** Found from here as well as from the compiled file: src/ and dist/ both lie beside package.json. */
function versionOf(): string {
  const path = new URL('../../../package.json', import.meta.url)
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(path, 'utf8'))).version
}
