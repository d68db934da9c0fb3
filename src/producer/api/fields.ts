// Fields that several routes take in a path, a query, a header or a body.
import { z } from 'zod'
import { ENCODINGS, encodingNamed } from '../../files/csv-encoding.ts'
import { SEPARATORS } from '../../files/csv-head.ts'
import { IDEMPOTENCY_KEY_MAX } from '../../kernel/body-limits.ts'
import { textUpTo } from '../../kernel/bounded.ts'
import { quoted } from '../../kernel/fault.ts'
import { parseZonedMoment } from '../../kernel/moment.ts'
import { parseListedPerson, parsePerson, parsePhone } from '../../kernel/recipient.ts'
import { isVisible } from '../../kernel/visible.ts'
import { NO_REASON } from '../../model/lanes/pause-reason.ts'

/** A count in an answer. */
export const count = z.int().nonnegative()

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

/** A sender in a path, as people name it. */
export const senderField = textUpTo(255).describe('Its id, number or name.')

/** `true` or `false` in a query; false unless given. */
export const flagField = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true')

/** A time with its zone, or so long ago or ahead; read as epoch ms. Whose day `yesterday` is, only who asks can say. */
export const timeField = textUpTo(40)
  .transform((text, context) => {
    // A plus in a query that nobody has encoded comes as a space.
    const ms = parseZonedMoment(text.replace(/^ /, '+'), Date.now())
    if (ms !== undefined) return ms
    context.addIssue(`expected a time with its zone such as 2026-01-31T12:00:00Z, or 24h, got ${quoted(text)}`)
    return z.NEVER
  })
  .meta({
    format: 'moment',
    description: 'ISO 8601 with its zone; `24h` ago; `+24h` ahead.',
  })

/** How many records a list gives at once. */
const PAGE_DEFAULT = 100
const PAGE_MAX = 1_000
/** Most records that a page may skip: they have to be read. */
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

/** `?cursor=<n>&limit=<n>` of a list with the latest first: the cursor is how many were seen. */
export const offsetPageFields = {
  cursor: digitsField(0, OFFSET_MAX, `the next of the page before, at most ${OFFSET_MAX}`)
    .meta({ description: '`next` of the page before; the latest unless given.' })
    .default(0),
  limit: pageFields.limit,
}

const CURSOR = '`next` of the page before; the first page unless given.'

/** The query of a list whose cursors are texts of up to `max` characters. */
export const pageQuery = (max: number) =>
  z.strictObject({ limit: pageFields.limit, cursor: textUpTo(max).optional().describe(CURSOR) })

/** The query of a list whose cursors are ids. */
export const idPageQuery = z.strictObject({ limit: pageFields.limit, cursor: textIdField.optional().describe(CURSOR) })

/** A name that people give: trimmed, 1 to `max` UTF-16 code units. */
export const nameField = (max: number) =>
  z
    .string()
    .trim()
    .refine(isVisible, 'must not be empty')
    .pipe(textUpTo(max))
    .meta({ minLength: 1, maxLength: max, description: 'Spaces at either end are removed.' })

/** Trimmed text of up to `max` characters, none of them a control character. */
export const plainText = (max: number) =>
  textUpTo(max)
    .trim()
    .regex(/^\P{Cc}*$/u, 'must have no control characters')

/** Name of a folder or file: no control characters (C1 confuse as much as C0), no slash. */
export const galleryNameField = nameField(255)
  .refine((name) => !/\p{Cc}/u.test(name), 'must have no control characters')
  .refine((name) => !name.includes('/'), 'must have no slash')

/** A phone number in any spelling, read as digits with country code. */
export const phoneField = textUpTo(40)
  .meta({ description: 'Full international number, in any spelling.' })
  .transform((given, context) => {
    const phone = parsePhone(given)
    if (phone.ok) return phone.digits
    context.addIssue(phone.message)
    return z.NEVER
  })

const personFieldReadBy = (read: (text: string) => string | undefined) =>
  textUpTo(140)
    .meta({ description: 'A number in any spelling, or WhatsApp’s id of a person without one.' })
    .transform((given, context) => {
      const person = read(given)
      if (person !== undefined) return person
      context.addIssue('expected a full international number such as +14155550123, or the id of a person without one')
      return z.NEVER
    })

/** A person, read as digits with country code or as a user id. */
export const personField = personFieldReadBy(parsePerson)

/** A person in a path: whatever a list shows of one is their address. */
export const listedPersonField = personFieldReadBy(parseListedPerson)

/** Why something is paused, for people. */
export const pauseFields = z.strictObject({ reason: textUpTo(200).default(NO_REASON) }).meta({ id: 'PauseReason' })

/** Fields to change, at least one. Another fault, such as an unknown field, is reported alone. */
export const changesOf = <S extends z.ZodRawShape>(fields: S, what = 'change') =>
  z
    .strictObject(fields)
    .partial()
    .refine((given) => Object.keys(given).length > 0, {
      error: `expected at least one ${what}`,
      when: ({ issues }) => issues.length === 0,
    })

/** A body without any field. */
export const noFields = z.strictObject({}).meta({ id: 'NoFields' })

/** The trace that a request belongs to. No request fails because of it. */
export const traceHeaders = z.object({
  traceparent: z.string().optional().meta({
    description: 'W3C Trace Context: the trace that the request belongs to. A malformed one is ignored.',
    example: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  }),
})

/** The header that makes a repeat the same request. Its length is checked where it is used (idempotency.ts). */
export const idempotencyHeaders = z.object({
  'Idempotency-Key': z.string().optional().meta({
    maxLength: IDEMPOTENCY_KEY_MAX,
    description: 'A text of your own for this request: a repeat with it does nothing twice, for at least 8 days.',
  }),
})

/** The header that WhatsApp signs its requests with. */
export const signatureHeaders = z.object({
  'X-Hub-Signature-256': z
    .string()
    .optional()
    .describe('`sha256=` and the HMAC-SHA256 of the raw body under the app secret, in hex.'),
})

/** Largest CSV file: some ten million rows, which are imported as they arrive. */
export const IMPORT_MAX_BYTES = 1024 ** 3
/** Refused rows that an answer names. */
export const REFUSED_SHOWN = 1_000

/** A CSV file as a body. */
export const csvBody = {
  as: 'stream',
  contentTypes: ['text/csv'],
  limit: IMPORT_MAX_BYTES,
  schema: z.string(),
} as const

/** How to read a CSV file where detection would be wrong. */
export const csvOptionFields = {
  encoding: textUpTo(40)
    .transform((name, context) => {
      const encoding = encodingNamed(name)
      if (encoding !== undefined) return encoding
      context.addIssue(`expected one of ${ENCODINGS.join(', ')}`)
      return z.NEVER
    })
    .meta({
      description:
        'Detected unless given, where it is UTF-8, UTF-16 with its mark or Windows-1252. Any encoding that browsers know: ' +
        `${ENCODINGS.slice(3).join(', ')}.`,
    })
    .optional(),
  separator: z
    .enum([...SEPARATORS, 'tab'])
    .transform((typed) => (typed === 'tab' ? '\t' : typed))
    .optional()
    .describe('Detected unless given: a comma, a semicolon or a tab, or what a first line `sep=` names.'),
}

export const readAsSchema = z
  .strictObject({
    encoding: z.enum(ENCODINGS),
    separator: z.enum(SEPARATORS),
    columns: z.array(z.string()).describe('As the header names them.'),
  })
  .describe('How the file was read.')
readAsSchema.register(z.globalRegistry, { id: 'ReadAs' })

/** The part of an answer about the file and its refused rows. */
export const importedFields = {
  refused: count,
  read_as: readAsSchema,
  refused_rows: z
    .array(z.strictObject({ line: z.int(), reason: z.string() }))
    .describe(`The first ${REFUSED_SHOWN} of them.`),
}
