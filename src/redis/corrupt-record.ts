// Records are checked when they are read back: what a person or another program changed in Redis must not be passed on.
import { z } from 'zod'

/** A record in Redis that is not what Laneway wrote. Answered as 500; the message names the record, never its content. */
export class CorruptRecordError extends Error {
  override name = 'CorruptRecordError'
}

/** The record as its schema says, or a CorruptRecordError that names the fields at fault. */
export function readRecord<S extends z.ZodType>(schema: S, what: string, raw: unknown): z.output<S> {
  const parsed = schema.safeParse(raw)
  if (parsed.success) return parsed.data
  const fields = parsed.error.issues.map((issue) => issue.path.join('.') || 'record').join(', ')
  throw new CorruptRecordError(`${what} in Redis is broken: ${fields}`)
}

/** A field that holds JSON, parsed; what comes out is still to be checked by the next schema of the pipe. */
export const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    context.addIssue({ code: 'custom', message: 'not JSON' })
    return z.NEVER
  }
})
