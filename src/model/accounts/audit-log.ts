// The audit log: who did what and when. An entry names things by their ids and the act by a word; it never holds a person's
// phone number, a message text or a secret.
import { z } from 'zod'

/** Who: a key, a person at the command line, or Laneway itself. `key_id` null: a key that does not exist. */
const actorSchema = z.union([
  z.strictObject({ key_id: z.string().nullable(), key_name: z.string().describe('Empty when it has none.') }),
  z.strictObject({ cli: z.string().describe('Who ran the command line, by the name the system knows.') }),
  z.strictObject({ system: z.literal('Laneway').describe('Nobody: Laneway did it by itself.') }),
])
export type Actor = z.infer<typeof actorSchema>

/** Laneway's own acts, such as pausing a lane whose sender is blocked. */
export const LANEWAY_ITSELF = { system: 'Laneway' } as const satisfies Actor

export const auditLogEntrySchema = z.strictObject({
  at: z.iso.datetime(),
  actor: actorSchema,
  account: z.int().nullable().describe('Whose it is; null where it is of the installation.'),
  action: z.string().describe('Such as `lane.pause` or `key.revoke`; `key.refused` and `access.refused` were stopped.'),
  target: z.string().nullable().describe('Its id or its name.'),
  target_name: z
    .string()
    .nullable()
    .describe('What people call a lane or a sender: its name or its number, as it is now. Null of anything else.'),
  detail: z.string().nullable().describe('More about it, in a word or a figure.'),
  request_id: z.string().nullable(),
})
auditLogEntrySchema.register(z.globalRegistry, { id: 'Activity' })
export type AuditLogEntry = z.infer<typeof auditLogEntrySchema>

/** What was done. Texts are cut at ACT_TEXT_MAX characters. */
export interface AuditEvent {
  actor: Actor
  /** NO_ACCOUNT where it is of the installation. */
  account: number
  action: string
  target?: string | undefined
  detail?: string | undefined
  requestId?: string | undefined
}

export const ACT_TEXT_MAX = 200
