// The envelopes of answers: their schemas for the table, and functions with which handlers fill them.
import { z } from 'zod'

/** Wraps each schema once, so that one envelope has one name: that of its content and an ending, if that has a name. */
function envelope<W extends (inside: never) => z.ZodType>(ending: string, wrap: W): W {
  const known = new WeakMap<z.ZodType, z.ZodType>()
  const wrapOnce = (inside: z.ZodType): z.ZodType => {
    const id = z.globalRegistry.get(inside)?.id
    const wrapped = known.get(inside) ?? wrap(inside as never).meta(id === undefined ? {} : { id: `${id}${ending}` })
    known.set(inside, wrapped)
    return wrapped
  }
  return wrapOnce as unknown as W
}

/** An exact object under a name of its own in the description. */
export const named = <S extends z.ZodRawShape>(id: string, shape: S) =>
  z.strictObject(shape).register(z.globalRegistry, { id })

/** The envelope of Laneway's own addresses and of the lookups. */
export const done = z.strictObject({ status: z.literal(true), message: z.string() }).meta({ id: 'Done' })
/** The same with this schema as `data`, exact. */
export const doneWith = envelope('Answer', <S extends z.ZodType>(data: S) => z.strictObject({ ...done.shape, data }))
/** `data` alone, without a message. */
export const bare = <S extends z.ZodType>(data: S) => z.strictObject({ status: z.literal(true), data })

/** For `answers` of a route: 200 with `data`. */
export const one = <S extends z.ZodType>(data: S) => ({ 200: doneWith(data) })
/** For `answers` of a route: 201 with `data`. */
export const made = <S extends z.ZodType>(data: S) => ({ 201: doneWith(data) })
/** For `answers` of a route: a page of a list; `next` is the `cursor` of the next page, null on the last. */
export const page = <S extends z.ZodType>(item: S) => ({
  200: z.strictObject({ status: z.literal(true), data: z.array(item), next: z.string().nullable() }),
})

/** A job that was queued, and the address that shows its progress. New each time: each answer has a name of its own. */
export const queuedJob = () => z.strictObject({ job_id: z.string(), status_url: z.string() })

/** The envelope of the gallery. */
export const success = z.strictObject({ success: z.literal(true), message: z.string() }).meta({ id: 'Success' })
/** The same with this schema as `data`, exact. */
export const successWith = envelope('Answer', <S extends z.ZodType>(data: S) =>
  z.strictObject({ ...success.shape, data }),
)
/** A page of a list of the gallery; `next_after` is the `after` of the next page, null on the last. */
export const successPage = envelope('Page', <S extends z.ZodType>(item: S) =>
  z.strictObject({
    ...success.shape,
    data: z.array(item),
    next_after: z.int().nullable().describe('What to give as `after` for the next page; null on the last.'),
  }),
)

/** Answers 200 with a message. */
export const says = (message: string) => ({ body: { status: true as const, message } })
/** Answers 200 with a message and data. */
export const shows = <T>(message: string, data: T) => ({ body: { status: true as const, message, data } })
/** Answers 201. */
export const created = <T>(data: T, message = 'created') => ({ status: 201 as const, ...shows(message, data) })
/** Answers 202: it is done later. */
export const queued = <T>(data: T) => ({ status: 202 as const, ...shows('queued', data) })
/** Answers with a page of a list. */
export const lists = <T>({ data, next }: { data: T[]; next: string | null }) => ({
  body: { status: true as const, data, next },
})
/** Answers 200 in the envelope of the gallery. */
export const succeeds = <T>(message: string, data: T) => ({ body: { success: true as const, message, data } })
