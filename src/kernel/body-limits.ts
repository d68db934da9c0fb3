// How large and how deep a request may be, over HTTP and through the intake queue.

/** Largest JSON body, unless a route says otherwise. */
export const JSON_LIMIT_BYTES = 256 * 1024

/** Longest Idempotency-Key. */
export const IDEMPOTENCY_KEY_MAX = 255

/** Most levels of nesting. JSON.parse takes 50,000, but recursive validation of them throws a RangeError. */
export const MAX_DEPTH = 32

/**
 * Most values of a body of that size: commas and opening brackets, counted before it is parsed. Three bytes, `{},`, are
 * 80 once parsed, so 256 KB could become 7 MB, a few hundred of them at once the whole heap. The largest message that
 * is legal has some 300.
 */
export const VALUES_MAX = 10_000

/** The same for 4 MB: a thousand messages of 200 values each, where a full list message has 75. */
export const LARGE_VALUES_MAX = 200_000

/** Most members of one object. No body has more than some dozen; V8 needs 300 ms for one object of 200,000. */
export const MEMBERS_MAX = 1_000

/** Most different names in one body. A thousand messages use some dozen; each new one costs V8 several µs. */
export const NAMES_MAX = 2_000

/** Whether a parsed value nests deeper than that. Goes level by level, so that no depth can exhaust the stack. */
export function isTooDeep(value: unknown): boolean {
  let level = [value].filter(isContainer)
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true
    level = level.flatMap((container) => Object.values(container).filter(isContainer))
  }
  return false
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null
