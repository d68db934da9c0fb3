// The fields of a route as a person types them: its path as arguments, its query and its body as options. What a field is, is read
// from the JSON schema of the route, so that nothing is said again; whether a value is right, the route itself decides.
import { z } from 'zod'
import { quoted } from '../kernel/fault.ts'
import { parseDuration } from '../kernel/moment.ts'
import type { RouteSpec } from '../producer/route.ts'
import { spanText } from '../telemetry/durations.ts'
import { wordOf } from './words.ts'

/** Where a field travels. */
type Part = 'params' | 'query' | 'body'

/** How the text of a value is read. */
type Kind = 'text' | 'number' | 'seconds' | 'flag' | 'yes_or_no' | 'time' | 'list' | 'json'

/** A field that is typed. */
export interface Input {
  /** As the route names it: `daily_limit`. */
  name: string
  /** As it is typed: `daily-limit`. */
  word: string
  part: Part
  kind: Kind
  /** A list of numbers, or of texts. */
  ofNumbers: boolean
  /** `none` stands for null. */
  mayBeNone: boolean
  placeholder: string
  meaning: string
  isRequired: boolean
}

/** The part of a JSON schema that is looked at. */
const nodeSchema = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  format: z.string().optional(),
  contentMediaType: z.string().optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  default: z.unknown().optional(),
  $ref: z.string().optional(),
  required: z.array(z.string()).default([]),
  get properties() {
    return z.record(z.string(), nodeSchema).optional()
  },
  get items() {
    return nodeSchema.optional()
  },
  get anyOf() {
    return z.array(nodeSchema).optional()
  },
})
export type Node = z.infer<typeof nodeSchema>

/** The JSON schema of what is given to, or comes from, a schema; undefined for none. */
export function nodeOf(schema: z.ZodType | undefined, io: 'input' | 'output'): Node | undefined {
  if (schema === undefined) return undefined
  const whole = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  const definitions = z.record(z.string(), nodeSchema).safeParse(whole.$defs).data ?? {}
  return followed(nodeSchema.parse(whole), definitions, 0)
}

/** How deep fields lie that are looked at: those of a list's entries in an answer. */
const DEEPEST = 4

/** The same with what its references name. */
function followed(node: Node, definitions: Readonly<Record<string, Node>>, depth: number): Node {
  const name = node.$ref?.split('/').at(-1)
  const found =
    name === undefined ? node : { ...definitions[name], ...node, required: definitions[name]?.required ?? [] }
  if (depth === DEEPEST) return found
  const follow = (each: Node): Node => followed(each, definitions, depth + 1)
  return {
    ...found,
    ...(found.properties && {
      properties: Object.fromEntries(Object.entries(found.properties).map(([key, each]) => [key, follow(each)])),
    }),
    ...(found.items && { items: follow(found.items) }),
    ...(found.anyOf && { anyOf: found.anyOf.map(follow) }),
  }
}

/** The fields of a route; those of a body that is no plain object are given as a whole. */
export function inputsOf(
  { params, query, body }: RouteSpec,
  { words = {}, typed }: { words?: Readonly<Record<string, string>>; typed?: { schema: z.ZodObject } } = {},
): Input[] {
  const schema = body.as === 'json' || body.as === 'stream' ? body.schema : undefined
  const ofBody = nodeOf(typed?.schema ?? schema, 'input')
  return [
    ...fieldsOf('params', nodeOf(params, 'input')),
    ...fieldsOf('query', nodeOf(query, 'input')),
    ...fieldsOf('body', ofBody),
  ].map((input) => ({ ...input, word: words[input.name] ?? wordOf(input.name) }))
}

function fieldsOf(part: Part, node: Node | undefined): Omit<Input, 'word'>[] {
  // The file of a form is no field: it is an argument of its own.
  const fields = Object.entries(node?.properties ?? {}).filter(([, field]) => field.contentMediaType === undefined)
  return fields.map(([name, field]) => {
    const kind = kindOf(name, field, part)
    const isRequired = node?.required.includes(name) ?? false
    return { ...{ name, part, isRequired }, ...kind, meaning: meaningOf(field, kind.kind) }
  })
}

/** What a number counts, by the name of its field. */
const SECONDS = /_seconds$/

function kindOf(
  name: string,
  field: Node,
  part: Part,
): Pick<Input, 'kind' | 'ofNumbers' | 'mayBeNone' | 'placeholder'> {
  const choices = choicesOf(field)
  const [one, ...others] = choices.filter(({ type }) => type !== 'null')
  const mayBeNone = choices.some(({ type }) => type === 'null')
  const as = (kind: Kind, placeholder: string, ofNumbers = false) => ({ kind, placeholder, ofNumbers, mayBeNone })
  if (one === undefined) return as('json', 'json')
  // As an email address, or nothing.
  if (others.length > 0) return others.every(isText) && isText(one) ? as('text', 'text') : as('json', 'json')
  if (one.type === 'boolean' && one.const !== true && field.default !== false) return as('yes_or_no', 'yes|no')
  if (one.type === 'boolean' || (part === 'query' && String(one.enum) === 'true,false')) return as('flag', '')
  if (one.type === 'integer' && part === 'body' && SECONDS.test(name)) return as('seconds', 'duration')
  if (one.type === 'integer' || one.type === 'number') return as(part === 'body' ? 'number' : 'text', 'n')
  if (one.format === 'date-time' || one.format === 'moment') return as('time', 'time')
  if (one.type === 'string' || one.enum !== undefined) return as('text', one.enum ? 'word' : 'text')
  const items = one.type === 'array' && one.items ? choicesOf(one.items) : []
  if (items.length > 0 && items.every(({ type }) => type === 'integer')) return as('list', 'list', true)
  // As senders, by number, name or id.
  if (items.some(isText) && items.every((item) => isText(item) || item.type === 'integer')) return as('list', 'list')
  return as('json', 'json')
}

/** What a value may be, one of them. */
const choicesOf = (node: Node): Node[] => node.anyOf?.flatMap(choicesOf) ?? [node]

const isText = ({ type }: Node): boolean => type === 'string'

/** What the schema says of a field, its words and its default. */
function meaningOf({ description, enum: words, default: usual, items, anyOf }: Node, kind: Kind): string {
  const known = words ?? items?.enum ?? anyOf?.flatMap((each) => each.enum ?? [])
  const isSaid = usual !== undefined && usual !== '' && String(usual) !== 'false' && typeof usual !== 'object'
  const parts = [
    // How times are written over HTTP is not how they are typed.
    description?.startsWith('ISO 8601') ? undefined : description && asInHelp(description),
    known !== undefined && known.length > 0 && String(known) !== 'true,false'
      ? `${items === undefined ? 'one' : 'one or more'} of ${[...new Set(known.map(named))].join(', ')}`
      : undefined,
    isSaid ? `default: ${kind === 'seconds' ? spanText(Number(usual)) : String(usual)}` : undefined,
  ]
  return parts.filter((part) => part !== undefined && part !== '').join('; ')
}

/** Without its full stop, and small at the beginning like the other lines of a help, where it does not begin with a name. */
const asInHelp = (sentence: string): string =>
  sentence.replace(/\.$/, '').replace(/^(?!WhatsApp|Laneway|Meta)[A-Z](?=[a-z]* )/, (letter) => letter.toLowerCase())

const named = (word: unknown): string => (word === '\t' ? 'tab' : String(word))

/** `--daily-limit` of `daily_limit`. */
export const flagOf = ({ word }: Pick<Input, 'word'>): string => `--${word}`

/** What was typed for a field, as it travels; a sentence in `fault` when it cannot be read. */
export function readTyped(input: Input, text: string): { value: unknown } | { fault: string } {
  if (input.mayBeNone && text === 'none') return { value: null }
  switch (input.kind) {
    case 'text':
    case 'time':
      return { value: text }
    case 'flag':
      return { value: true }
    case 'yes_or_no':
      if (['true', 'yes'].includes(text)) return { value: true }
      return ['false', 'no'].includes(text) ? { value: false } : { fault: `expected yes or no, got ${quoted(text)}` }
    case 'number':
      return text.trim() !== '' && Number.isFinite(Number(text))
        ? { value: Number(text) }
        : { fault: `expected a number${input.mayBeNone ? ' or none' : ''}, got ${quoted(text)}` }
    case 'seconds': {
      const ms = text === '0' ? 0 : parseDuration(text)
      return ms === undefined
        ? { fault: `expected a duration such as 90s, 30m, 1h or 7d, got ${quoted(text)}` }
        : { value: ms / 1_000 }
    }
    case 'list': {
      const words = text.split(',').map((word) => word.trim())
      // An empty list may mean that there is no limit: nobody gets that by an empty variable of a script.
      if (words.includes('')) return { fault: `expected words separated by commas, got ${quoted(text)}` }
      if (!input.ofNumbers) return { value: words }
      const numbers = words.map(Number)
      return numbers.every(Number.isFinite) ? { value: numbers } : { fault: 'expected numbers separated by commas' }
    }
    case 'json':
      try {
        return { value: JSON.parse(text) }
      } catch {
        return { fault: 'expected JSON' }
      }
  }
}
