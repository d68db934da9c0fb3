// An operation of the description as a section of the page.
import type { oas31 } from 'zod-openapi'
import { escaped, jsonBlock, paragraphs, sentence, table } from './html.ts'
import { limitsOf, type Schema, typeOf } from './schema-view.ts'

/** Finds what a reference of the document means. */
export type Resolve = <T extends object>(value: T | oas31.ReferenceObject) => T

/** The section of an operation, with the anchor `op-<operationId>`. */
export function operationView(
  method: string,
  path: string,
  operation: oas31.OperationObject,
  resolve: Resolve,
): string {
  const id = escaped(operation.operationId ?? '')
  const { requestBody, responses = {}, parameters = [] } = operation
  return [
    `<article id="op-${id}" aria-labelledby="op-${id}-title">`,
    `<h3 id="op-${id}-title"><span class="method ${method}">${method.toUpperCase()}</span> <code>${escaped(path)}</code></h3>`,
    `<p class="summary">${sentence(operation.summary ?? '')}</p>`,
    paragraphs(operation.description ?? ''),
    parametersView(parameters.map(resolve)),
    requestBody ? bodyView(resolve(requestBody), resolve) : '',
    answersView(Object.entries(responses), resolve),
    '</article>',
  ].join('\n')
}

function parametersView(parameters: readonly oas31.ParameterObject[]): string {
  const rows = parameters.map((each) => {
    const schema = each.schema ?? {}
    const said = each.description ?? ('description' in schema ? schema.description : undefined)
    const notes = [said === undefined ? '' : sentence(said), escaped(limitsOf(schema))].filter((part) => part !== '')
    return [
      `<code>${escaped(each.name)}</code>`,
      escaped(each.in),
      typeOf(schema),
      each.required ? 'yes' : 'no',
      notes.join(' ') || '–',
    ]
  })
  return table('Parameters', ['Name', 'In', 'Type', 'Required', 'Notes'], rows)
}

function bodyView({ content, description = '', required }: oas31.RequestBodyObject, resolve: Resolve): string {
  const kinds = Object.entries(content).map(([type, media]) => {
    return `<p><code>${escaped(type)}</code>: ${shown(media)}</p>${examplesView('Example', media, resolve)}`
  })
  return `<h4>Body</h4><p>${required ? '' : 'May be left out. '}${sentence(description)}</p>${kinds.join('')}`
}

/** The schema of a body, by its name where it has one. */
const shown = ({ schema }: { schema?: Schema }): string => (schema ? typeOf(schema) : 'bytes')

function answersView(
  responses: readonly [string, oas31.ResponseObject | oas31.ReferenceObject][],
  resolve: Resolve,
): string {
  const rows = responses.map(([status, response]) => {
    const { description, content = {} } = resolve(response)
    const types = Object.entries(content).map(([type, media]) => `${shown(media)} as <code>${escaped(type)}</code>`)
    return [status, types.join(', ') || '–', sentence(description)]
  })
  const examples = responses.flatMap(([status, response]) =>
    Number(status) < 400
      ? Object.values(resolve(response).content ?? {}).map((media) => examplesView(`Answer ${status}`, media, resolve))
      : [],
  )
  return `<h4>Answers</h4>${table('Answers', ['Status', 'Body', 'When'], rows)}${examples.join('')}`
}

function examplesView(title: string, media: oas31.MediaTypeObject, resolve: Resolve): string {
  const several = Object.values(media.examples ?? {}).map(resolve)
  if (media.example !== undefined) return jsonBlock(title, media.example)
  return several
    .map(({ summary, value }) => jsonBlock(summary === undefined ? title : `${title}: ${summary}`, value))
    .join('')
}
