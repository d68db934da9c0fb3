// Faults of a body as data: the path and one short sentence for whoever wrote it, which names what was expected and what came.
import { cutText } from './cut-text.ts'

/**
 * One thing that is wrong.
 * `path` names the field as the sender wrote it, `interactive.action.buttons[0].reply.title`; empty for the body itself.
 * `message` does not repeat the path: `at most 20 characters, got 31`.
 */
export type Fault = { path: string; message: string }

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

/** The path of what an object or a list at `path` has as `key`. */
export function joinPath(path: string, key: PropertyKey): string {
  if (typeof key === 'number') return `${path}[${key}]`
  return path === '' ? String(key) : `${path}.${String(key)}`
}

/** The value at a path of an unchecked value; undefined where there is none. */
export function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), input)
}

export function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === 'object' && value !== null
}

/** `a, b or c`. */
export function oneOf(choices: readonly string[]): string {
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

/** `a string`, for the name of a type. */
export function withArticle(type: string): string {
  return spoken.get(type) ?? `a ${type}`
}

/** What kind of value it is: `a list`, `nothing`. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : withArticle(typeof value)
}
