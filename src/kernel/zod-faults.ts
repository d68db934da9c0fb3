// Turns the issues that Zod finds in a body into faults: each names what was expected and what came.
import type { z } from 'zod'
import {
  counted,
  type Fault,
  isObject,
  joinPath,
  kindOf,
  notOneOf,
  oneOf,
  quoted,
  valueAt,
  withArticle,
  wrongKind,
} from './fault.ts'
import { type FieldNames, meantBy } from './field-names.ts'
import { UNKNOWN_NAMED_MAX, unknownFault, unknownField } from './unknown-fields.ts'

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
