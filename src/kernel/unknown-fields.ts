// The fields of a body that its schema does not know: which there are, and which of them are faults.
import { cutText } from './cut-text.ts'
import { type Fault, isObject, joinPath, quoted } from './fault.ts'
import { type FieldNames, meantBy } from './field-names.ts'

/** How many unknown fields are checked: all that an object may have over HTTP. */
const ASKED_MAX = 1_000

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

/** An unknown field by its name. `at` is the path of the object that has it. */
export function unknownField(at: string, name: string, names: FieldNames): UnknownField {
  const path = cutText(joinPath(at, name), PATH_MAX)
  const meant = meantBy(names, at.replace(/\[\d+\]/g, '[]'), name)
  return meant === undefined ? { path } : { path, meant }
}

/** Most unknown fields named of one object or body, and most characters of the path of one. */
export const UNKNOWN_NAMED_MAX = 20
const PATH_MAX = 120

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
