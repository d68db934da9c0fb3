// How large and how deep a request may be, over HTTP and through the intake queue.

/** Largest JSON body, unless a route says otherwise. */
export const JSON_LIMIT_BYTES = 256 * 1024

/** Most levels of nesting. JSON.parse takes 50,000, but recursive validation of them throws a RangeError. */
export const MAX_DEPTH = 32

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
