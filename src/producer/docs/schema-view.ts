// A schema of the description as a reader sees it: its type in a word or two, and its fields in a table.
import type { oas31 } from 'zod-openapi'
import { escaped, sentence, table } from './html.ts'

export type Schema = oas31.SchemaObject | oas31.ReferenceObject

const isReference = (schema: Schema): schema is oas31.ReferenceObject => '$ref' in schema

/** `#/components/schemas/File` → `File` */
export const nameOf = ({ $ref }: oas31.ReferenceObject): string => $ref.split('/').at(-1) ?? ''

const linkTo = (name: string): string => `<a href="#schema-${escaped(name)}">${escaped(name)}</a>`

/** What kind of value it is, as HTML: `list of File`, `"sent" or "read"`, `text`. */
export function typeOf(schema: Schema): string {
  if (isReference(schema)) return linkTo(nameOf(schema))
  const kinds = schema.oneOf ?? schema.anyOf
  if (kinds) return kinds.map(typeOf).join(' or ')
  if (schema.const !== undefined) return `<code>${escaped(JSON.stringify(schema.const))}</code>`
  if (schema.enum) return schema.enum.map((each) => `<code>${escaped(JSON.stringify(each))}</code>`).join(' or ')
  if (schema.type === 'array') {
    return typeof schema.items === 'object' ? `list of ${typeOf(schema.items)}` : 'empty list'
  }
  const words = [schema.type ?? 'any'].flat().map((type) => WORDS[type] ?? type)
  return escaped(schema.format === 'date-time' ? 'time' : words.join(' or '))
}

const WORDS: Readonly<Record<string, string>> = { string: 'text', integer: 'whole number' }

/** Its limits in words; empty when it has none. */
export function limitsOf(schema: Schema): string {
  if (isReference(schema)) return ''
  const { minLength, maxLength, minItems, maxItems, minimum, maximum, pattern } = schema
  return [
    range(minLength, maxLength, 'characters'),
    range(minItems || undefined, maxItems, 'items'),
    range(minimum, maximum, ''),
    pattern === undefined ? '' : `matches ${pattern}`,
    schema.default === undefined ? '' : `${JSON.stringify(schema.default)} unless given`,
  ]
    .filter((part) => part !== '')
    .join('; ')
}

function range(low: unknown, high: unknown, unit: string): string {
  if (typeof low !== 'number' && typeof high !== 'number') return ''
  const text =
    typeof high !== 'number' ? `at least ${low}` : typeof low !== 'number' ? `at most ${high}` : `${low} to ${high}`
  return `${text} ${unit}`.trim()
}

/** The fields of an object in a table, those inside of fields with their path; of anything else its type. */
export function fieldsOf(schema: Schema, caption: string): string {
  const rows = rowsOf(schema, '')
  if (rows.length === 0) return `<p>${typeOf(schema)}</p>`
  return table(caption, ['Field', 'Type', 'Required', 'Notes'], rows)
}

function rowsOf(schema: Schema, at: string): string[][] {
  if (isReference(schema) || schema.properties === undefined) return []
  return Object.entries(schema.properties).flatMap(([name, field]) => {
    const path = `${at}${name}`
    const note = 'description' in field && field.description !== undefined ? sentence(field.description) : ''
    const notes = [note, escaped(limitsOf(field))].filter((part) => part !== '').join(' ')
    const row = [
      `<code>${escaped(path)}</code>`,
      typeOf(field),
      schema.required?.includes(name) ? 'yes' : 'no',
      notes === '' ? '–' : notes,
    ]
    const items = !isReference(field) && typeof field.items === 'object' ? field.items : undefined
    return [row, ...rowsOf(field, `${path}.`), ...(items ? rowsOf(items, `${path}[].`) : [])]
  })
}
