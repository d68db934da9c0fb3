// Fields of a body that nobody has read. A schema drops what it does not know, so these are the fields of the value that
// came which what was read of it has not: no list of names to keep beside the schemas, and no second parse.
import { PATH_MAX, UNKNOWN_NAMED_MAX } from './fault.ts'

/**
 * Paths of the fields of `given` that `read` has not, at most twenty, written as in faults: `image.captoin`. `read` is what a
 * schema made of `given`; `elsewhere` holds the names of top-level fields that were read apart from it.
 */
export function unknownFields(given: unknown, read: Fields, elsewhere?: ReadonlySet<string>): string[] {
  const found: string[] = []
  if (isObject(given)) compare(given, read, '', found, elsewhere)
  return found
}

function compare(given: Fields, read: Fields, at: string, found: string[], elsewhere?: ReadonlySet<string>): void {
  for (const name in given) {
    if (found.length >= UNKNOWN_NAMED_MAX) return
    const value = given[name]
    // With null nothing is lost.
    if (value === undefined || value === null) continue
    const isKnown = Object.hasOwn(read, name)
    // Most fields are known texts, for which no path is made.
    if (isKnown ? typeof value !== 'object' : elsewhere?.has(name)) continue
    const path = at === '' ? name : `${at}.${name}`
    if (isKnown) descend(value, read[name], path, found)
    else found.push(path.slice(0, PATH_MAX))
  }
}

function descend(given: unknown, read: unknown, at: string, found: string[]): void {
  if (given === read) return
  if (Array.isArray(given)) {
    if (Array.isArray(read)) for (let i = 0; i < read.length; i += 1) descend(given[i], read[i], `${at}[${i}]`, found)
  } else if (isObject(given) && isObject(read)) compare(given, read, at, found)
}

type Fields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null
