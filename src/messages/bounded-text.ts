// Strings with a length limit. Zod's own `max` counts code points and would let through twice as many emoji as the
// chat product's limits are taken to mean here (limits.ts): so the limit is a check of our own, in UTF-16 code units.
import { z } from 'zod'

/** A string of at most `max` UTF-16 code units, empty or not. The fault is worded like every other length. */
export function textUpTo(max: number): z.ZodString {
  const schema = z.string().check(({ value, issues }) => {
    if (value.length <= max) return
    issues.push({ code: 'too_big', origin: 'string', maximum: max, inclusive: true, input: value, continue: true })
  })
  return schema.meta({ maxLength: max })
}

/** The same, but not empty. */
export function filledTextUpTo(max: number): z.ZodString {
  return textUpTo(max).min(1)
}
