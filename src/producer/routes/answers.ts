// What many answers have in common: the envelopes of the two families of addresses, and the one of all errors.
import { z } from 'zod'

/** Laneway's own addresses, and the lookups: a word or a sentence in `message`, and `data` where there is some. */
export const done = z.strictObject({ status: z.literal(true), message: z.string() })
/** The envelope of our own addresses with this schema as `data`, exact. */
export const doneWith = <S extends z.ZodType>(data: S) => z.strictObject({ ...done.shape, data })

/** A page of one of our own lists; `next` is what to give as `cursor` for the next one, null on the last. */
export const listOf = <S extends z.ZodType>(item: S) =>
  z.strictObject({ status: z.literal(true), data: z.array(item), next: z.string().nullable() })

/** The gallery. */
export const success = z.strictObject({ success: z.literal(true), message: z.string() })
/** The envelope of the gallery with this schema as `data`, exact. */
export const successWith = <S extends z.ZodType>(data: S) => z.strictObject({ ...success.shape, data })
/** A page of a list; `next_after` is what to give as `after` for the next one, null on the last. */
export const successPage = <S extends z.ZodType>(item: S) =>
  z.strictObject({ ...success.shape, data: z.array(item), next_after: z.int().nullable() })
