// What many answers have in common: the envelopes of the two families of addresses, and the one of all errors.
import { z } from 'zod'

/** An envelope is named after what is in it, where that has a name: `Campaign` → `CampaignAnswer`. */
const named = (inside: z.ZodType, ending: string): { id?: string } => {
  const id = z.globalRegistry.get(inside)?.id
  return id === undefined ? {} : { id: `${id}${ending}` }
}

/** Laneway's own addresses, and the lookups: a word or a sentence in `message`, and `data` where there is some. */
export const done = z.strictObject({ status: z.literal(true), message: z.string() }).meta({ id: 'Done' })
/** The envelope of our own addresses with this schema as `data`, exact. */
export const doneWith = <S extends z.ZodType>(data: S) =>
  z.strictObject({ ...done.shape, data }).meta(named(data, 'Answer'))

/** A page of one of our own lists; `next` is what to give as `cursor` for the next one, null on the last. */
export const listOf = <S extends z.ZodType>(item: S) =>
  z.strictObject({ status: z.literal(true), data: z.array(item), next: z.string().nullable() })

/** The gallery. */
export const success = z.strictObject({ success: z.literal(true), message: z.string() }).meta({ id: 'Success' })
/** The envelope of the gallery with this schema as `data`, exact. */
export const successWith = <S extends z.ZodType>(data: S) =>
  z.strictObject({ ...success.shape, data }).meta(named(data, 'Answer'))
/** A page of a list; `next_after` is what to give as `after` for the next one, null on the last. */
export const successPage = <S extends z.ZodType>(item: S) =>
  z
    .strictObject({
      ...success.shape,
      data: z.array(item),
      next_after: z.int().nullable().describe('What to give as `after` for the next page; null on the last.'),
    })
    .meta(named(item, 'Page'))
