// The error envelope of all endpoints, as a test looks at it.
import { z } from 'zod'

const errorSchema = z.object({
  status: z.literal(false),
  success: z.literal(false),
  message: z.string().min(1),
  error: z.object({
    code: z.string().regex(/^[a-z_]+$/),
    details: z.array(z.record(z.string(), z.unknown())),
    request_id: z.string().min(1),
  }),
})

/** The error of an answer, after checking that the envelope is whole. */
export function errorOf(reply: { json: unknown }) {
  const { message, error } = errorSchema.parse(reply.json)
  return { message, ...error }
}
