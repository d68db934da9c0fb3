// Faults of a body as data: the path and one short sentence for whoever wrote it. Turns Zod's issues into sentences that name
// what was expected and what came.
import type { z } from 'zod'
import { cutText } from './cut-text.ts'
import { type FieldNames, meantBy } from './field-names.ts'

/**
 * One thing that is wrong.
 * `path` names the field as the sender wrote it, `interactive.action.buttons[0].reply.title`; empty for the body itself.
 * `message` does not repeat the path: `at most 20 characters, got 31`.
 */
export type Fault = { path: string; message: string }

type Issue = z.core.$ZodIssue

/**
 * Every fault of `input`, in the order zod found them.
 * `at` is the path of `input` itself when it is a part of a larger body, for example `template.components[1]`.
 * With `names`, the fault of an unknown field suggests the one that it looks like a misspelling of.
 */
export function faultsOf(error: z.ZodError, input: unknown, at = '', names: FieldNames = NO_NAMES): Fault[] {
  return error.issues.flatMap((issue) => faultsOfIssue(issue, input, at, names))
}

const NO_NAMES: FieldNames = new Map()

function faultsOfIssue(issue: Issue, input: unknown, at: string, names: FieldNames): Fault[] {
  const path = issue.path.reduce(joinPath, at)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, UNKNOWN_NAMED_MAX).map((key) => unknownFault(unknownField(path, key, names)))
  }
  const value = valueAt(input, issue.path)
  // One member of a union takes the value but for fields that it does not know: that is what the person meant.
  if (issue.code === 'invalid_type' && value === undefined) {
    return [{ path, message: `${sentence(issue, value)}${misspelt(issue.path, input)}` }]
  }
  const meant = issue.code === 'invalid_union' ? issue.errors.find(isAboutKeysOnly) : undefined
  if (meant) return meant.flatMap((each) => faultsOfIssue(each, value, path, names))
  return [{ path, message: sentence(issue, value) }]
}

/** Most names beside a missing field that are compared with it: a body may have a thousand. */
const NEIGHBOURS_MAX = 50

/** `; is "nmae" meant for it?` when a name beside a missing field looks like a misspelling of it, else nothing. */
function misspelt(path: readonly PropertyKey[], input: unknown): string {
  const name = path.at(-1)
  const parent = valueAt(input, path.slice(0, -1))
  if (typeof name !== 'string' || !isObject(parent) || Array.isArray(parent)) return ''
  const missing: FieldNames = new Map([['', new Set([name])]])
  const near = Object.keys(parent)
    .slice(0, NEIGHBOURS_MAX)
    .find((each) => meantBy(missing, '', each) !== undefined)
  return near === undefined ? '' : `; is ${quoted(near)} meant for it?`
}

const isAboutKeysOnly = (issues: readonly Issue[]): boolean =>
  issues.length > 0 && issues.every(({ code }) => code === 'unrecognized_keys')

/** An unknown field. */
export interface UnknownField {
  path: string
  /** The name that it looks like a misspelling of. */
  meant?: string
  /** Represents all that were not checked: one of them may be a misspelling. */
  isTooMuch?: true
}

/** Whether a field is refused even where unknown fields are ignored. */
export const isNeverIgnored = ({ meant, isTooMuch }: UnknownField): boolean => meant !== undefined || isTooMuch === true

/** The fault of an unknown field, where it is refused. */
export function unknownFault({ path, meant, isTooMuch }: UnknownField): Fault {
  if (isTooMuch) return { path, message: `more than ${ASKED_MAX} unknown fields` }
  return { path, message: meant === undefined ? 'unknown field' : `unknown field; is ${quoted(meant)} meant?` }
}

/** `at` is the path of the object that has the field. */
function unknownField(at: string, name: string, names: FieldNames): UnknownField {
  const path = cutText(joinPath(at, name), PATH_MAX)
  const meant = meantBy(names, at.replace(/\[\d+\]/g, '[]'), name)
  return meant === undefined ? { path } : { path, meant }
}

/** Most unknown fields named of one object or body, and most characters of the path of one. */
const UNKNOWN_NAMED_MAX = 20
const PATH_MAX = 120

/** The fault of a field that holds another kind of value than `expected` ("a string"), or nothing at all. */
export function wrongKind(expected: string, value: unknown): string {
  return value === undefined ? 'required' : `expected ${expected}, got ${kindOf(value)}`
}

/** A value from outside for a sentence: a number as it is, a string quoted and cut to 40 characters, else its kind. */
export function quoted(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value !== 'string') return kindOf(value)
  return value.length > 40 ? `${JSON.stringify(cutText(value, 40))}…` : JSON.stringify(value)
}

/** The fault of a field that takes one of a few values: `expected "list" or "button", got "lst"`. */
export function notOneOf(allowed: readonly unknown[], value: unknown): string {
  if (value === undefined) return 'required'
  return `expected ${oneOf(allowed.map((each) => JSON.stringify(each)))}, got ${quoted(value)}`
}

/** `1 row`, `2 rows`: a count and its noun, for sentences. */
export function counted(count: number | bigint, noun: string): string {
  return `${count} ${noun}${Number(count) === 1 ? '' : 's'}`
}

function joinPath(path: string, key: PropertyKey): string {
  if (typeof key === 'number') return `${path}[${key}]`
  return path === '' ? String(key) : `${path}.${String(key)}`
}

/** The value at a path of an unchecked value; undefined where there is none. */
export function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), input)
}

function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === 'object' && value !== null
}

function sentence(issue: Issue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.expected === 'int' && typeof value === 'number') return `expected an integer, got ${value}`
      return wrongKind(withArticle(issue.expected), value)
    case 'invalid_value':
      return notOneOf(issue.values, value)
    case 'invalid_union':
      return notOneShape(issue, value)
    case 'too_big':
      return sizeSentence(issue.exact ? 'exactly' : 'at most', issue.maximum, issue.origin, value)
    case 'too_small':
      return sizeSentence(issue.exact ? 'exactly' : 'at least', issue.minimum, issue.origin, value)
    default:
      // Formats and rules of our own: the schema that states the rule also words it.
      return issue.message
  }
}

/** A discriminated union names the values of its discriminator; a plain one is worded when its members are plain types. */
function notOneShape(issue: z.core.$ZodIssueInvalidUnion, value: unknown): string {
  if ('options' in issue && issue.options) return notOneOf(issue.options, value)
  const kinds = issue.errors.flatMap(([first]) =>
    first?.code === 'invalid_type' && first.path.length === 0 ? [withArticle(first.expected)] : [],
  )
  return kinds.length === issue.errors.length ? wrongKind(oneOf(kinds), value) : issue.message
}

function sizeSentence(bound: string, limit: number | bigint, origin: string, value: unknown): string {
  if (origin === 'string' && typeof value === 'string') {
    return `${bound} ${counted(limit, 'character')}, got ${value.length}`
  }
  if (origin === 'array' && Array.isArray(value)) return `${bound} ${counted(limit, 'item')}, got ${value.length}`
  return `${bound} ${limit}, got ${typeof value === 'number' ? value : kindOf(value)}`
}

function oneOf(choices: readonly string[]): string {
  if (choices.length < 2) return choices.join('')
  return `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`
}

/** Zod's own names of types, as a person says them. */
const spoken = new Map([
  ['array', 'a list'],
  ['int', 'an integer'],
  ['object', 'an object'],
  ['record', 'an object'],
])

function withArticle(type: string): string {
  return spoken.get(type) ?? `a ${type}`
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : withArticle(typeof value)
}

/** How many unknown fields are checked: all that an object may have over HTTP. */
const ASKED_MAX = 1_000

/**
 * The fields of `given` that a schema dropped when it made `read` of it: the first twenty, and of the others those that
 * are never ignored, at most twenty more. Comparing the two needs no second parse. `elsewhere`: top-level fields that
 * another schema reads. `most`: how many are checked.
 */
export function unknownFields(
  given: unknown,
  read: Fields,
  names: FieldNames,
  { elsewhere, most = ASKED_MAX }: { elsewhere?: ReadonlySet<string> | undefined; most?: number } = {},
): UnknownField[] {
  const search: Search = { found: [], names, left: most }
  if (isObject(given)) compare(given, read, '', search, elsewhere)
  return search.found
}

/** The same where all are refused: the first twenty. */
export const refusedFields = (given: unknown, read: Fields, names: FieldNames, elsewhere?: ReadonlySet<string>) =>
  unknownFields(given, read, names, { elsewhere, most: UNKNOWN_NAMED_MAX }).filter(({ isTooMuch }) => !isTooMuch)

/** The found fields, the check of each, and how many more may follow. */
type Search = { found: UnknownField[]; names: FieldNames; left: number }

function compare(given: Fields, read: Fields, at: string, search: Search, elsewhere?: ReadonlySet<string>): void {
  for (const name in given) {
    if (search.left < 0) return
    const value = given[name]
    if (value === undefined) continue
    const isKnown = Object.hasOwn(read, name)
    // Most fields are known texts, for which no path is made.
    if (isKnown ? typeof value !== 'object' : elsewhere?.has(name)) continue
    if (isKnown) descend(value, read[name], joinPath(at, name), search)
    else add(search, at, name, value)
  }
}

function add(search: Search, at: string, name: string, value: unknown): void {
  const { found, names } = search
  search.left -= 1
  if (search.left < 0) {
    found.push({ path: '', isTooMuch: true })
    return
  }
  const field = unknownField(at, name, names)
  // Dropping a null loses nothing, unless it stands for an instruction.
  if (value === null && field.meant === undefined) return
  const most = field.meant === undefined ? UNKNOWN_NAMED_MAX : 2 * UNKNOWN_NAMED_MAX
  if (found.length < most) found.push(field)
}

function descend(given: unknown, read: unknown, at: string, search: Search): void {
  if (given === read) return
  if (Array.isArray(given)) {
    if (Array.isArray(read)) for (let i = 0; i < read.length; i += 1) descend(given[i], read[i], `${at}[${i}]`, search)
  } else if (isObject(given) && isObject(read)) compare(given, read, at, search)
}

type Fields = Readonly<Record<string, unknown>>
