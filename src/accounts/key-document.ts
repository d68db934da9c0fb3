// How a key is shown: the same over HTTP and on the command line, without the key itself.
import { z } from 'zod'
import { anyPermissionSchema } from './permissions.ts'

const time = z.iso.datetime()

export const keyDocumentSchema = z.strictObject({
  id: z.string(),
  name: z.string().describe('Empty when it has none.'),
  account: z.int().nullable().describe('null for a key of the whole installation.'),
  permissions: z.array(anyPermissionSchema),
  senders: z.array(z.int()).nullable().describe('The only senders that it may be used for; null for all.'),
  addresses: z.array(z.string()).nullable().describe('The only networks that it may be used from; null for all.'),
  state: z.enum(['active', 'expired', 'revoked']),
  expires_at: time.nullable(),
  created_at: time,
  last_used_at: time.nullable().describe('To the minute; null when it never was.'),
})
keyDocumentSchema.register(z.globalRegistry, { id: 'Key' })
export type KeyDocument = z.infer<typeof keyDocumentSchema>
