// The fields that a schema knows, by path, and which of them an unknown field was probably meant for. Dropping a misspelt
// `send_at` would send the message now, so whoever drops unknown fields checks here first.
import { z } from 'zod'

/** Names by path: `''` is the body itself, `template.components[].parameters[]` each parameter of it. */
export type FieldNames = ReadonlyMap<string, ReadonlySet<string>>

const known = new WeakMap<z.core.$ZodType, FieldNames>()

/** The names that a schema knows. Those of all kinds where it takes several: `video` is no misspelling in a picture. */
export function fieldNamesOf(schema: z.core.$ZodType): FieldNames {
  const before = known.get(schema)
  if (before) return before
  const names = new Map<string, Set<string>>()
  collect(schema, '', names)
  known.set(schema, names)
  return names
}

/** The names of several schemas that read one body. */
export function allFieldNames(...schemas: readonly z.core.$ZodType[]): FieldNames {
  const names = new Map<string, Set<string>>()
  for (const schema of schemas) collect(schema, '', names)
  return names
}

function collect(schema: unknown, path: string, names: Map<string, Set<string>>): void {
  if (schema instanceof z.ZodObject) {
    const here = namesAt(path, names)
    for (const name in schema.shape) {
      here.add(name)
      collect(schema.shape[name], path === '' ? name : `${path}.${name}`, names)
    }
  } else if (schema instanceof z.ZodUnion) {
    for (const option of schema.options) collect(option, path, names)
  } else if (schema instanceof z.ZodArray) collect(schema.element, `${path}[]`, names)
  else if (schema instanceof z.ZodPipe) {
    collect(schema.in, path, names)
    collect(schema.out, path, names)
  } else if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    collect(schema.unwrap(), path, names)
  } else if (schema instanceof z.ZodCustom) collectDescribed(schema.meta(), path, names)
}

/** A field that is read by hand has only a description. */
function collectDescribed(described: unknown, path: string, names: Map<string, Set<string>>): void {
  const properties = propertiesOf(described)
  if (properties === undefined) return
  const here = namesAt(path, names)
  for (const [name, held] of Object.entries(properties)) {
    here.add(name)
    collectDescribed(held, `${path}.${name}`, names)
  }
}

function propertiesOf(described: unknown): object | undefined {
  if (typeof described !== 'object' || described === null || !('properties' in described)) return undefined
  const { properties } = described
  return typeof properties === 'object' && properties !== null ? properties : undefined
}

function namesAt(path: string, names: Map<string, Set<string>>): Set<string> {
  const there = names.get(path) ?? new Set()
  names.set(path, there)
  return there
}

/**
 * Words that resemble a name of ours but mean something else: fields that clients add for themselves, or for other services.
 */
const OTHER_WORDS: ReadonlySet<string> = new Set([
  ...['action', 'actions', 'caption', 'contact', 'content', 'contents', 'county', 'gender', 'next', 'option', 'seller'],
  ...['send', 'test', 'vendor'],
])

/** Longest name that is compared: none of ours is half as long, and a client may write names of any length. */
const COMPARED_MAX = 60
const EDITS_MAX = 2

/**
 * The known field that an unknown one was meant for. Case, underscores and hyphens make no difference; else at most two
 * letters are added, left out, changed or swapped with the next, and at most one in three of the known name, since two
 * edits turn any word of four letters into any other.
 */
export function meantBy(names: FieldNames, path: string, name: string): string | undefined {
  const here = names.get(path)
  if (here === undefined || here.has(name) || name.length > COMPARED_MAX || OTHER_WORDS.has(name)) return undefined
  const same = foldedOf(here).get(folded(name))
  if (same !== undefined) return same
  const words = inWords(name)
  let nearest: { name: string; distance: number } | undefined
  for (const each of here) {
    const most = Math.min(EDITS_MAX, Math.floor(each.length / 3))
    if (Math.abs(each.length - words.length) > most) continue
    const distance = edits(words, each)
    if (distance <= most && distance < (nearest?.distance ?? Number.POSITIVE_INFINITY))
      nearest = { name: each, distance }
  }
  return nearest?.name
}

const foldedNames = new WeakMap<ReadonlySet<string>, ReadonlyMap<string, string>>()

/** The names by how they are folded: a body may have thousands of fields. */
function foldedOf(names: ReadonlySet<string>): ReadonlyMap<string, string> {
  const before = foldedNames.get(names)
  if (before) return before
  const made = new Map(Array.from(names, (name) => [folded(name), name]))
  foldedNames.set(names, made)
  return made
}

const folded = (name: string): string => name.replace(/[_-]/g, '').toLowerCase()

/** `templateId` as `template_id`, which is another name than `template`, not a misspelling of it. */
const inWords = (name: string): string => name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()

/** How many letters are added, left out, changed, or swapped with the next, from one word to the other. */
export function edits(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1]
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row[j] = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = last
    last = row
  }
  return last[b.length] ?? 0
}
