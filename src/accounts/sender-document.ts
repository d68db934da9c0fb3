// How a sender is shown: everything but its token, the same over HTTP and on the command line.
import { z } from 'zod'
import { providerNameSchema } from './sender-settings.ts'

export const senderDocumentSchema = z.strictObject({
  id: z.int().describe('Also of its lane.'),
  account: z.int(),
  number: z.string().describe('Digits with country code.'),
  name: z.string().nullable(),
  provider: providerNameSchema,
  base_url: z.string(),
  phone_number_id: z.string().nullable(),
  rate: z.number().describe('Messages per second.'),
  honours_idempotency: z.boolean(),
  default: z.boolean().describe('Whether service messages of the account leave from it.'),
})
senderDocumentSchema.register(z.globalRegistry, { id: 'Sender' })
export type SenderDocument = z.infer<typeof senderDocumentSchema>
