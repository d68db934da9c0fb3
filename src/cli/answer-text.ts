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
const COLUMNS_MOST = 12

/** The text of an answer in JSON. */
export function answerText(verb: RouteVerb, status: number, answer: unknown): string {
  const { spec, columns, none = 'None.', shownOnce, only, after, hides = [] } = verb
  const body = bodySchema.safeParse(answer).data
  // Such as the description of the interface: a document by itself.
  if (body === undefined || (body.data === undefined && body.message === undefined)) return printableJson(answer)
  const { message, data, next, next_after: nextAfter } = body
  const own = data === undefined ? undefined : inWords(() => verb.text?.(data))
  if (own !== undefined) return own.split('\n').map(printable).join('\n')
  const said = message === undefined || spec.method === 'get' ? '' : printable(sentenceOf(message))
  if (Array.isArray(data)) {
    const more = next ?? nextAfter
    if (data.length === 0 && !more) return said || none
    const option = 'cursor' in (spec.query?.shape ?? {}) ? '--cursor' : '--after'
    // A page may be empty and still not be the last.
    const table =
      data.length === 0 ? 'None on this page.' : tableOf(data, columns ?? columnsOf(spec.answers[status]), verb)
    return lines([table, said && `\n${said}`, more ? `\nMore: ${option} ${printable(String(more))}` : ''])
  }
  const fields = record.safeParse(data).data
  // Lines as they are: it goes into a file.
  const text = only === undefined ? undefined : fields?.[only]
  if (typeof text === 'string') return text.trimEnd().split('\n').map(printable).join('\n')
  const others = Object.entries(fields ?? {}).filter(([name]) => name !== shownOnce && !hides.includes(name))
  const about = [said, keyValueTable(linesOf(others, verb))]
  const more = fields === undefined ? '' : (after?.(fields) ?? '')
  const secret = shownOnce === undefined ? undefined : fields?.[shownOnce]
  const parts =
    typeof secret === 'string'
      ? [printable(secret), lines(about), lines(['Keep it now: it is not shown again.', more])]
      : [lines(about), more.split('\n').map(printable).join('\n')]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** What a verb says in its own words; undefined where it has none, or where the answer of another release has other fields. */
function inWords(say: () => string | undefined): string | undefined {
  try {
    return say()
  } catch (error) {
    if (error instanceof z.ZodError) return undefined
    throw error
  }
}

const lines = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n')

function tableOf(rows: readonly unknown[], columns: readonly string[], verb: RouteVerb): string {
  const { asTyped, cells = {} } = verb
  return table(
    columns.map((name) => wordsOf(name, asTyped).toUpperCase()),
    rows.map((row) => {
      const fields = record.safeParse(row).data ?? { [columns[0] ?? '']: row }
      return columns.map(
        (name) =>
          inWords(() => cells[name]?.(fields)) ??
          (fields[name] === null ? wordForNull(name, verb) : valueText(fields[name])),
      )
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

/** The fields of a thing, with those of its parts after their name; lists of things are for scripts, and for those who print them. */
const linesOf = (
  fields: readonly (readonly [name: string, value: unknown])[],
  how: Pick<RouteVerb, 'nullWord' | 'asTyped'>,
  before = '',
): [name: string, value: string][] =>
  fields.flatMap(([name, value]) => {
    const part = Array.isArray(value) ? undefined : record.safeParse(value).data
    const title = before + printable(wordsOf(name, how.asTyped))
    if (part !== undefined) return linesOf(Object.entries(part), how, `${title} `)
    const line: [name: string, value: string] = [title, value === null ? wordForNull(name, how) : valueText(value)]
    return [line]
  })

const wordForNull = (name: string, { nullWord = '' }: Pick<RouteVerb, 'nullWord'>): string =>
  typeof nullWord === 'string' ? nullWord : (nullWord[name] ?? '')

const wordsOf = (name: string, isTyped = false): string => (isTyped ? name : name.replaceAll('_', ' '))

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

function valueText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return TIME.test(value) ? `${value.slice(0, 19)}Z` : value
  if (Array.isArray(value) && value.every((each) => typeof each !== 'object')) return value.join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
