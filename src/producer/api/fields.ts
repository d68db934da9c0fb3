// The kinds of fields that several routes take, in a path, a query or a body.
import { z } from 'zod'
import { IDEMPOTENCY_KEY_MAX } from '../../messages/accept/body-limits.ts'
import { textUpTo } from '../../messages/bounded.ts'
import { quoted } from '../../messages/fault.ts'

/** An id in a body: a positive integer. */
export const idField = z.int().min(1)

/** A whole number as text in a path, a query or a form: digits only. */
const digitsField = (low: number, high: number, expected: string) =>
  z
    .string()
    .refine((text) => /^\d+$/.test(text) && Number(text) >= low && Number(text) <= high, {
      error: (issue) => `expected ${expected}, got ${quoted(issue.input)}`,
    })
    .transform(Number)
    .meta({ type: 'integer', minimum: low, maximum: high })

/** An id as text. */
export const textIdField = digitsField(1, Number.MAX_SAFE_INTEGER, 'a positive integer')

/** How many records a list gives at once. */
const PAGE_DEFAULT = 100
const PAGE_MAX = 1_000
/** Most that a page may leave out: they are looked through. */
const OFFSET_MAX = 10_000

/** `?after=<id>&limit=<n>` of a list: the records whose ids follow `after`, at most `limit` of them. */
export const pageFields = {
  after: digitsField(0, Number.MAX_SAFE_INTEGER, 'the id of the last record seen')
    .meta({ description: 'The id of the last record seen; from the first one unless given.' })
    .default(0),
  limit: digitsField(1, PAGE_MAX, `a number from 1 to ${PAGE_MAX}`)
    .meta({ description: `How many to answer, ${PAGE_DEFAULT} unless given.` })
    .default(PAGE_DEFAULT),
}

/** `?cursor=<n>&limit=<n>` of a list that has the latest first: the cursor is how many of them have been seen. */
export const offsetPageFields = {
  cursor: digitsField(0, OFFSET_MAX, `the next of the page before, at most ${OFFSET_MAX}`)
    .meta({ description: '`next` of the page before; the latest unless given.' })
    .default(0),
  limit: pageFields.limit,
}

/** A name that people give: trimmed, 1 to `max` UTF-16 code units. */
export const nameField = (max: number) =>
  z
    .string()
    .trim()
    .refine((name) => name !== '', 'must not be empty')
    .pipe(textUpTo(max))
    .meta({ minLength: 1, maxLength: max, description: 'Spaces at its ends are left out.' })

/** Control characters, of which C1 are no less confusing in a name than C0. */
const CONTROL = /\p{Cc}/u

/** Name of a folder or file: no control characters, no slash. */
export const galleryNameField = nameField(255)
  .refine((name) => !CONTROL.test(name), 'must have no control characters')
  .refine((name) => !name.includes('/'), 'must have no slash')

/** Why something is paused, for people. */
export const pauseFields = z.strictObject({ reason: textUpTo(200).default('by hand') }).meta({ id: 'PauseReason' })

/** Fields to change, at least one of them. Where another fault is found, as of a field that nobody knows, it is told alone. */
export const changesOf = <S extends z.ZodRawShape>(fields: S, what = 'change') =>
  z
    .strictObject(fields)
    .partial()
    .refine((given) => Object.keys(given).length > 0, {
      error: `expected at least one ${what}`,
      when: ({ issues }) => issues.length === 0,
    })

/** A body in which nothing is to be said. */
export const noFields = z.strictObject({}).meta({ id: 'NoFields' })

/** The trace that a request belongs to. No request fails for it. */
export const traceHeaders = z.object({
  traceparent: z.string().optional().meta({
    description: 'W3C Trace Context: the trace that the request belongs to. One that is none is ignored.',
    example: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  }),
})

/** The header that makes a repeat the same request. Its length is checked by what it is for (idempotency-key.ts). */
export const idempotencyHeaders = z.object({
  'Idempotency-Key': z.string().optional().meta({
    maxLength: IDEMPOTENCY_KEY_MAX,
    description: 'A text of your own for this request: a repeat with it does nothing twice, for at least 8 days.',
  }),
})
