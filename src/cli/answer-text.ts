// The answer of a route as text for a terminal: a list as a table, one thing as its fields, and the sentence of what was done.
import { z } from 'zod'
import { ended } from '../kernel/refusal.ts'
import type { BytesSchema } from '../producer/route.ts'
import { nodeOf } from './inputs.ts'
import { keyValueTable, printable, printableJson, table } from './print.ts'
import type { RouteVerb } from './route-verb.ts'

const bodySchema = z.looseObject({
  message: z.string().optional(),
  data: z.unknown(),
  next: z.union([z.string(), z.null()]).optional(),
  next_after: z.union([z.number(), z.null()]).optional(),
})
const record = z.record(z.string(), z.unknown())

/** Columns of a list whose verb names none. */
const COLUMNS_MOST = 8

/** The text of an answer in JSON. */
export function answerText({ spec, columns, none = 'None.' }: RouteVerb, status: number, answer: unknown): string {
  const body = bodySchema.safeParse(answer).data
  // Such as the description of the interface: a document by itself.
  if (body === undefined || (body.data === undefined && body.message === undefined)) return printableJson(answer)
  const { message, data, next, next_after: after } = body
  const said = message === undefined || spec.method === 'get' ? '' : printable(sentenceOf(message))
  if (Array.isArray(data)) {
    if (data.length === 0 && typeof next !== 'string') return none
    const more = next ?? after
    const option = 'cursor' in (spec.query?.shape ?? {}) ? '--cursor' : '--after'
    const table = data.length === 0 ? none : tableOf(data, columns ?? columnsOf(spec.answers[status]))
    return more ? `${table}\n\nMore: ${option} ${printable(String(more))}` : table
  }
  const fields = record.safeParse(data).data
  return [said, fields === undefined ? '' : keyValueTable(linesOf(fields))].filter((part) => part !== '').join('\n')
}

function tableOf(rows: readonly unknown[], columns: readonly string[]): string {
  return table(
    columns.map((name) => wordsOf(name).toUpperCase()),
    rows.map((row) => {
      const fields = record.safeParse(row).data ?? { [columns[0] ?? '']: row }
      return columns.map((name) => valueText(fields[name]))
    }),
  )
}

/** A sentence of a word or two, as most answers have it. */
const sentenceOf = (message: string): string => ended(message.charAt(0).toUpperCase() + message.slice(1))

/** The first fields of the entries that are no lists or objects. */
function columnsOf(answer: z.ZodType | BytesSchema | undefined): string[] {
  const schema = answer !== undefined && 'contentTypes' in answer ? answer.schema : answer
  const whole = nodeOf(schema, 'output')
  const items = [whole, ...(whole?.anyOf ?? [])].flatMap((node) => node?.properties?.data?.items ?? [])[0]
  const kinds = items?.anyOf ?? (items === undefined ? [] : [items])
  const names = kinds.flatMap(({ properties }) =>
    Object.entries(properties ?? {}).flatMap(([name, { type, anyOf }]) =>
      (anyOf ?? [{ type }]).every((each) => each.type !== 'object' && each.type !== 'array') ? [name] : [],
    ),
  )
  return [...new Set(names)].slice(0, COLUMNS_MOST)
}

/** The fields of a thing, with those of its parts after their name. */
const linesOf = (fields: Readonly<Record<string, unknown>>, before = ''): [name: string, value: string][] =>
  Object.entries(fields).flatMap(([name, value]) => {
    const part = Array.isArray(value) ? undefined : record.safeParse(value).data
    const title = before + printable(wordsOf(name))
    if (part !== undefined) return linesOf(part, `${title} `)
    const line: [name: string, value: string] = [title, valueText(value)]
    return [line]
  })

const wordsOf = (name: string): string => name.replaceAll('_', ' ')

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

function valueText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return TIME.test(value) ? `${value.slice(0, 19)}Z` : value
  if (Array.isArray(value) && value.every((each) => typeof each !== 'object')) return value.join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
