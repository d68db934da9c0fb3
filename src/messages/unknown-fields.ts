// Fields of a body that nobody has read. A schema drops what it does not know, so these are the fields of the value that
// came which what was read of it has not: no list of names to keep beside the schemas, and no second parse.
import { PATH_MAX, UNKNOWN_NAMED_MAX } from './fault.ts'

/**
 * Paths of the fields of `given` that `read` has not, at most twenty, written as in faults: `image.captoin`. `read` is what a
 * schema made of `given`; `elsewhere` holds the names of top-level fields that were read apart from it.
 */
export function unknownFields(given: unknown, read: object, elsewhere?: ReadonlySet<string>): string[] {
  const found: string[] = []
  if (isObject(given)) compare(given, read, '', found, elsewhere)
  return found
}

function compare(given: object, read: object, at: string, found: string[], elsewhere?: ReadonlySet<string>): void {
  if (Array.isArray(given)) {
    if (!Array.isArray(read)) return
    for (let i = 0; i < read.length; i += 1) descend(given[i], read[i], `${at}[${i}]`, found)
    return
  }
  for (const name in given) {
    if (found.length >= UNKNOWN_NAMED_MAX) return
    const value: unknown = Reflect.get(given, name)
    // With null nothing is lost.
    if (value === undefined || value === null) continue
    const path = at === '' ? name : `${at}.${name}`
    if (Object.hasOwn(read, name)) descend(value, Reflect.get(read, name), path, found)
    else if (!elsewhere?.has(name)) found.push(path.slice(0, PATH_MAX))
  }
}

function descend(given: unknown, read: unknown, at: string, found: string[]): void {
  if (given !== read && isObject(given) && isObject(read)) compare(given, read, at, found)
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
