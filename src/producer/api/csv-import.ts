// Bounds of what is imported from a CSV file, how it is read, and how its refused rows are told.
import { z } from 'zod'
import { ENCODINGS } from '../../files/csv-encoding.ts'
import { SEPARATORS } from '../../files/csv-head.ts'

/** Some ten million rows; they are imported as they come. */
export const IMPORT_MAX_BYTES = 1024 ** 3
/** Refused rows that an answer names. */
export const REFUSED_SHOWN = 1_000

export const refusedRows = z
  .array(z.strictObject({ line: z.int(), reason: z.string() }))
  .describe(`The first ${REFUSED_SHOWN} of them.`)

/** What the query may say of the file, where it is not found out right. */
export const csvSaidFields = {
  encoding: z.enum(ENCODINGS).optional().describe('Found out unless given, where it is one of the first four.'),
  separator: z
    .enum([...SEPARATORS, 'tab'])
    .transform((typed) => (typed === 'tab' ? '\t' : typed))
    .optional()
    .describe('Found out unless given: a comma, a semicolon or a tab, or what a first line `sep=` names.'),
}

export const readAsSchema = z
  .strictObject({
    encoding: z.enum(ENCODINGS),
    separator: z.enum(SEPARATORS),
    columns: z.array(z.string()).describe('As the header names them.'),
  })
  .describe('How the file was read.')
readAsSchema.register(z.globalRegistry, { id: 'ReadAs' })
