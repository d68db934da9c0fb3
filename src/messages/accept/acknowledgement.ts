// The answers to a send: the acknowledgement of a message, and the result of each message of a batch.
import { z } from 'zod'

/** Most messages of one batch. */
export const BATCH_MAX = 1_000

export const acknowledgementSchema = z.strictObject({
  messaging_product: z.literal('chatapp'),
  contacts: z
    .array(z.strictObject({ input: z.string(), wa_id: z.string() }))
    .describe('The recipient as it was given, and its digits with country code.'),
  messages: z.array(z.strictObject({ id: z.string() })),
})
acknowledgementSchema.register(z.globalRegistry, { id: 'Acknowledgement' })
export type Acknowledgement = z.infer<typeof acknowledgementSchema>

const itemErrorSchema = z.strictObject({
  code: z.string(),
  message: z.string(),
  details: z.array(z.strictObject({ path: z.string(), message: z.string() })).readonly(),
})
export type ItemError = z.infer<typeof itemErrorSchema>

/** What became of one item, `index` from 0 in the order of the request. */
export const batchResultSchema = z
  .union([
    z.strictObject({ index: z.int().nonnegative(), id: z.string() }).meta({ id: 'BatchAccepted' }),
    z.strictObject({ index: z.int().nonnegative(), error: itemErrorSchema }).meta({ id: 'BatchRefused' }),
  ])
  .meta({ id: 'BatchResult' })
export type BatchResult = z.infer<typeof batchResultSchema>
