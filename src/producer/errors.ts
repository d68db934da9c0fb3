// Error answers of the producer: one envelope for all endpoints.
import { z } from 'zod'
import { counted, type Fault } from '../kernel/fault.ts'
import { doesNotExist, type Refusal, type RefusalKind, sentenceOf } from '../kernel/refusal.ts'

/** What is wrong with a field; for a name that is taken also the id of the list that has it. */
const detailSchema = z
  .strictObject({ path: z.string(), message: z.string(), tag_id: z.int().optional() })
  .meta({ id: 'ErrorDetail' })
type Detail = z.infer<typeof detailSchema>

/** A refusal that is answered to the caller. `message` is one sentence that a person can act on. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly details: readonly Detail[]
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    code: string,
    message: string,
    more: { details?: readonly Detail[]; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause })
    this.status = status
    this.code = code
    this.details = more.details ?? []
    this.headers = more.headers ?? {}
  }
}

/** The body of every error answer. Both flags, because the families of the interface use one or the other. */
export const errorBodySchema = z
  .strictObject({
    status: z.literal(false),
    success: z.literal(false),
    message: z.string().describe('One sentence for a person.'),
    error: z.strictObject({
      code: z.string().describe('A word for a program, in snake case.'),
      details: z.array(detailSchema).readonly(),
      request_id: z.string(),
    }),
  })
  .meta({ id: 'Error' })

/** The body to answer the error with. */
export function errorBody(error: ApiError, requestId: string): z.infer<typeof errorBodySchema> {
  return {
    status: false,
    success: false,
    message: error.message,
    error: { code: error.code, details: error.details, request_id: requestId },
  }
}

/** 400 that lists every fault; the sentence names the first. */
export const invalid = (faults: readonly Fault[], code = 'invalid_request'): ApiError =>
  new ApiError(400, code, sentenceOf(faults), { details: faults })

const STATUS_OF: Readonly<Record<RefusalKind, number>> = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 422,
  overtaken: 409,
  in_the_way: 409,
  too_many: 429,
}

/** The answer for a Refusal. */
export const refused = ({ kind, code, message, faults, retryAfterSeconds }: Refusal): ApiError =>
  new ApiError(STATUS_OF[kind], code, message, {
    details: faults,
    ...(kind === 'unauthorized' ? { headers: { 'WWW-Authenticate': 'Bearer' } } : {}),
    ...(retryAfterSeconds === undefined ? {} : { headers: { 'Retry-After': String(retryAfterSeconds) } }),
  })

/** 404 for what does not exist, or belongs to another account. */
export const notFound = (what: string): ApiError => refused(doesNotExist(what))

/** 503 `unavailable` with Retry-After: 2 s, while Redis or the file store is away or refuses. */
export const storageAway = (cause: unknown): ApiError =>
  new ApiError(503, 'unavailable', 'The service cannot reach its storage right now. Try again in a few seconds.', {
    headers: { 'Retry-After': '2' },
    cause,
  })

/** The same while the storage that answers lacks the data that this producer has used before. */
export const otherStorage = (cause: unknown): ApiError =>
  new ApiError(503, 'unavailable', 'The service is connected to the wrong storage; its operators must fix this.', {
    headers: { 'Retry-After': '5' },
    cause,
  })

/** 413 for a body that is too large. */
export const tooLarge = (): ApiError => new ApiError(413, 'too_large', 'The body is too large.')

/** The same for a file with this limit. */
export const fileTooLarge = (maxBytes: number): ApiError =>
  new ApiError(413, 'too_large', `The file is too large: at most ${counted(maxBytes, 'byte')}.`)

/** 503 when the memory of the body was needed for others. */
export const overloaded = (): ApiError =>
  new ApiError(503, 'overloaded', 'Too much is being sent at the moment. Try again in a few seconds.', {
    headers: { 'Retry-After': '2' },
  })

/** 500 `internal`, for our own faults. The cause is for the log and never leaves the process. */
export const internal = (cause: unknown): ApiError =>
  new ApiError(500, 'internal', 'Something went wrong on our side. Quote the request id when you ask for support.', {
    cause,
  })
