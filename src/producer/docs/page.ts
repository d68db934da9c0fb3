// The page for people: the description as one document of plain HTML. It has no script, asks no other host for anything,
// and can be read by keyboard and by screen readers; a browser's own search finds what one looks for.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { oas31 } from 'zod-openapi'
import { escaped, paragraphs, sentence } from './html.ts'
import { operationView, type Resolve } from './operation-view.ts'
import { fieldsOf, type Schema } from './schema-view.ts'

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

interface Shown {
  method: string
  path: string
  operation: oas31.OperationObject
}

/** The page, and the policy under which a browser shows all of it: its one style sheet, named by its hash, and no more. */
export function docsPage(document: oas31.OpenAPIObject): { html: string; policy: string } {
  const style = readFileSync(new URL('page.css', import.meta.url), 'utf8')
  const hash = createHash('sha256').update(style).digest('base64')
  const resolve = resolverOf(document)
  const operations = operationsOf(document.paths ?? {})
  const received = operationsOf(document.webhooks ?? {})
  const tags = (document.tags ?? []).filter(({ name }) => operations.some((each) => isOf(each, name)))
  const schemas = Object.entries(document.components?.schemas ?? {})
  const section = ({ method, path, operation }: Shown): string => operationView(method, path, operation, resolve)
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Laneway ${escaped(document.info.version)}: HTTP interface</title>
<style>${style}</style>
</head>
<body>
<a class="skip" href="#content">To the content</a>
<nav aria-label="Operations">
<p><strong>Laneway</strong> ${escaped(document.info.version)}</p>
${tags.map(({ name }) => menu(name, operations)).join('\n')}
<p><a href="#webhooks">Webhooks</a></p>
<p><a href="#schemas">Schemas</a></p>
</nav>
<main id="content">
<h1>HTTP interface</h1>
<p>The same for programs, as OpenAPI ${escaped(document.openapi)}: <a href="/openapi.json">/openapi.json</a></p>
${paragraphs(document.info.description ?? '')}
${tags
  .map(
    ({ name, description = '' }) =>
      `<section><h2>${escaped(name)}</h2><p>${sentence(description)}</p>${operations
        .filter((each) => isOf(each, name))
        .map(section)
        .join('\n')}</section>`,
  )
  .join('\n')}
<section id="webhooks"><h2>Webhooks</h2><p>What WhatsApp sends to us.</p>
${received.map(section).join('\n')}
</section>
<section id="schemas"><h2>Schemas</h2>
${schemas.map(([name, schema]) => schemaView(name, schema)).join('\n')}
</section>
</main>
</body>
</html>
`
  return { html, policy: `${POLICY}; style-src 'sha256-${hash}'` }
}

const POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const isOf = ({ operation }: Shown, tag: string): boolean => operation.tags?.includes(tag) === true

function operationsOf(paths: Readonly<Record<string, oas31.PathItemObject | oas31.ReferenceObject>>): Shown[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = '$ref' in item ? undefined : (item as oas31.PathItemObject)[method]
      return operation ? [{ method, path, operation }] : []
    }),
  )
}

function menu(tag: string, operations: readonly Shown[]): string {
  const links = operations
    .filter((each) => isOf(each, tag))
    .map(
      ({ method, path, operation }) =>
        `<li><a href="#op-${escaped(operation.operationId ?? '')}"><span class="method ${method}">` +
        `${method.toUpperCase()}</span> ${escaped(path)}</a></li>`,
    )
  return `<p>${escaped(tag)}</p><ul>${links.join('')}</ul>`
}

function schemaView(name: string, schema: Schema): string {
  const said = 'description' in schema && schema.description !== undefined ? paragraphs(schema.description) : ''
  const id = escaped(name)
  return `<article id="schema-${id}"><h3>${id}</h3>${said}${fieldsOf(schema, `Fields of ${id}`)}</article>`
}

/** Follows references of this document, which has all that it refers to in itself. */
function resolverOf(document: object): Resolve {
  return (value) => {
    if (!('$ref' in value) || typeof value.$ref !== 'string')
      return value as Exclude<typeof value, oas31.ReferenceObject>
    const found = value.$ref
      .split('/')
      .slice(1)
      .reduce<unknown>(
        (at, name) => (typeof at === 'object' && at !== null ? Reflect.get(at, name) : undefined),
        document,
      )
    if (typeof found !== 'object' || found === null) throw new Error(`${value.$ref} is not in the document`)
    return found as Exclude<typeof value, oas31.ReferenceObject>
  }
}
