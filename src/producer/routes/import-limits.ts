// Bounds of what is imported from a CSV file, and how its refused rows are told.
import { z } from 'zod'

/** Some ten million rows; they are imported as they come. */
export const IMPORT_MAX_BYTES = 1024 ** 3
/** Refused rows that an answer names. */
export const REFUSED_SHOWN = 1_000

export const refusedRows = z
  .array(z.strictObject({ line: z.int(), reason: z.string() }))
  .describe(`The first ${REFUSED_SHOWN} of them.`)
