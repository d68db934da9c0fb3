// Bounds of JSON that are checked on its bytes, before it is parsed: how deep it nests, how many values it has, how many
// members one object has, how many different names. 256 KB of `{},` are 7 MB once parsed, and V8 needs 300 ms for 200,000
// members that all have names of their own; within these bounds 4 MB are parsed in less than 40 ms.
import { MAX_DEPTH, MEMBERS_MAX, NAMES_MAX } from '../../messages/accept/body-limits.ts'
import { ApiError } from '../errors.ts'

/** Throws an ApiError when the text holds more than `valuesMax` values (commas and opening brackets) or breaks another bound. */
export function assertJsonBounds(bytes: Uint8Array, valuesMax: number): void {
  /** Members of the object that is open at each depth. */
  const members = new Uint16Array(MAX_DEPTH + 1)
  const names = new Set<number>()
  let depth = 0
  let values = 0
  let hash = 0

  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i]
    if (byte === 0x22) {
      hash = 0
      for (i += 1; i < bytes.length && bytes[i] !== 0x22; i += 1) {
        if (bytes[i] === 0x5c) i += 1
        hash = (Math.imul(hash, 31) + (bytes[i] ?? 0)) | 0
      }
    } else if (byte === 0x2c) values += 1
    else if (byte === 0x7b || byte === 0x5b) {
      values += 1
      depth += 1
      if (depth > MAX_DEPTH) {
        throw new ApiError(400, 'too_deep', `The body is nested deeper than ${MAX_DEPTH} levels.`)
      }
      members[depth] = 0
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1
    else if (byte === 0x3a) {
      const now = (members[depth] ?? 0) + 1
      if (now > MEMBERS_MAX) throw tooMany(`more than ${MEMBERS_MAX} members in one object`)
      members[depth] = now
      names.add(hash)
      if (names.size > NAMES_MAX) throw tooMany(`more than ${NAMES_MAX} different names`)
    }
    if (values > valuesMax) throw tooMany(`more than ${valuesMax} values`)
  }
}

const tooMany = (what: string): ApiError => new ApiError(400, 'too_many_values', `The body has ${what}.`)
