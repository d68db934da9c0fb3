// Schemas for input from outside, with bounds: texts and lists.
import { z } from 'zod'
import { holdsMoreThan } from './json-size.ts'

/**
 * A string of at most `max` UTF-16 code units, empty or not. Zod's own `max` counts code points and would let through twice as
 * many emoji as WhatsApp's limits are taken to mean here. The fault is worded like every other length.
 */
export function textUpTo(max: number): z.ZodString {
  const schema = z.string().check(({ value, issues }) => {
    if (value.length <= max) return
    issues.push({ code: 'too_big', origin: 'string', maximum: max, inclusive: true, input: value, continue: true })
  })
  return schema.meta({ maxLength: max })
}

/** The same, but not empty. */
export function nonEmptyTextUpTo(max: number): z.ZodString {
  return textUpTo(max).min(1)
}

/**
 * Items beyond the limit that are still parsed, so that a list that is a little too long has all its faults named.
 */
const PARSED_BEYOND_LIMIT = 2

interface ListRules {
  min?: number
  /** Most values in the whole list, those inside of its items included; with more, no item is parsed. */
  values?: number
  /**
   * Judges the items together, as they came, before anybody has checked them. It must not visit every one of them.
   */
  judge?: (items: readonly unknown[], context: Context) => void
  /** Says nothing of the length: the list around this one does. */
  lengthSaidElsewhere?: true
}

/** Where a rule puts its faults; paths are relative to the value that it judges. */
export type Context = Pick<z.core.ParsePayload, 'issues'>

/** The part of a list of at most `max` items that is ever parsed. */
export const parsedPart = <T>(items: readonly T[], max: number): readonly T[] =>
  items.length > max + PARSED_BEYOND_LIMIT ? items.slice(0, max + PARSED_BEYOND_LIMIT) : items

/**
 * A list of at most `max` items. However many come, only the first few more than that are parsed. Zod's own `max` runs after
 * the items: 87,000 empty rows were parsed, with two faults each, before the count was checked.
 */
export function listUpTo<S extends z.ZodType>(max: number, item: S, rules: ListRules = {}) {
  const { min = 0, values, judge, lengthSaidElsewhere } = rules
  const itemsSchema = z.array(item)
  // Only describes the list to readers of the schema: all that comes passes it, and is judged below in another order.
  const described = itemsSchema.min(min).max(max)
  described._zod.run = (payload) => payload
  return described.transform((list: unknown, context): z.output<S>[] => {
    if (!Array.isArray(list)) {
      context.issues.push({ code: 'invalid_type', expected: 'array', input: list })
      return z.NEVER
    }
    if (values !== undefined && holdsMoreThan(list, { values })) {
      context.issues.push({ code: 'custom', message: `at most ${values} values in all, got more`, input: list })
      return z.NEVER
    }
    const parsed = readAs(itemsSchema, parsedPart(list, max), context)
    judge?.(list, context)
    const origin = 'array'
    if (list.length < min) {
      context.issues.push({ code: 'too_small', origin, minimum: min, inclusive: true, input: list })
    } else if (list.length > max && !lengthSaidElsewhere) {
      context.issues.push({ code: 'too_big', origin, maximum: max, inclusive: true, input: list })
    }
    return parsed
  })
}

/** Without a stack trace, which nobody reads: a message of nothing but faults has some 300 of these. */
const safeParse = z.core._safeParse(z.core.$ZodError)

/** What the schema makes of a value inside of a transform; its faults become those of the transform. */
function readAs<S extends z.ZodType>(schema: S, value: unknown, context: Context): z.output<S> {
  const parsed = safeParse(schema, value)
  if (parsed.success) return parsed.data
  const input: { input: unknown } & Record<string, unknown> = { input: value }
  for (const issue of parsed.error.issues) context.issues.push(Object.assign(issue, input))
  return z.NEVER
}
