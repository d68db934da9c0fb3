// Fields that several kinds of records have, as they stand in Redis.
import { z } from 'zod'

export const idField = z.coerce.number<string>().int().positive()

/** Microseconds since 1970. */
export const timeField = z.coerce.number<string>().int().positive()

/** An id or a time that may be empty, which reads as null. */
export const optionalField = z.union([z.literal('').transform(() => null), idField])
