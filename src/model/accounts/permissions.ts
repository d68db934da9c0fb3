// What a key may do. Separate from the store of keys, so that naming a permission loads no Redis code.
import { z } from 'zod'

/** The permissions of a key of an account. */
export const PERMISSIONS = [
  'messages:send',
  'messages:read',
  'contacts:read',
  'contacts:write',
  'gallery',
  'gallery:system',
  'events',
  'admin',
] as const

/** The permission for the whole installation: its key belongs to no account and may do everything in any of them. */
export const OPERATOR = 'operator'

export type Permission = (typeof PERMISSIONS)[number] | typeof OPERATOR

/** The permissions that a key of an account can get. */
export const permissionSchema = z.enum(PERMISSIONS)
export const anyPermissionSchema = z.enum([...PERMISSIONS, OPERATOR])

/** The account id of a key for the whole installation, which has none. */
export const NO_ACCOUNT = 0

/** The fields of a key that decide what it may do. */
export interface Permitted {
  readonly permissions: readonly Permission[]
  /** The only senders that it may use; empty: all. */
  readonly senders: readonly number[]
}

/** Whether the key is one for the whole installation. */
export const isOperator = ({ permissions }: Pick<Permitted, 'permissions'>): boolean => permissions.includes(OPERATOR)

/** Whether the key is the account's, as an operator's is the installation's: one for some senders only is not. */
export const hasAccount = ({ permissions, senders }: Permitted): boolean =>
  permissions.includes('admin') && senders.length === 0

/**
 * Whether the key has the permission, also for a session of the console that it opened. `admin` permits everything in its
 * account, `operator` everything in every account.
 */
export const permits = (key: Permitted, permission: Permission): boolean =>
  key.permissions.includes(permission) || isOperator(key) || (permission !== OPERATOR && hasAccount(key))

/** All permissions within an account that the key has. */
export const permissionsOf = (key: Permitted): Permission[] => [
  ...new Set([...PERMISSIONS.filter((each) => permits(key, each)), ...key.permissions]),
]

/** The id of a key. What is refused is not repeated: it may be the key itself. */
export const keyIdSchema = z.string().regex(/^key_[0-9a-f]{12}$/, 'expected the id of a key such as key_0f1e2d3c4b5a')

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
  last_used_from: z
    .string()
    .nullable()
    .describe('The address of the client that used it last over HTTP; null when none did within 30 days.'),
  uses: z
    .array(
      z
        .strictObject({
          day: z.iso.date().describe('In UTC.'),
          count: z.int().positive().describe('Requests and jobs.'),
          from: z.string().nullable().describe('The last address of that day.'),
        })
        .meta({ id: 'KeyUse' }),
    )
    .describe('Of the last 30 days those on which it was used, the latest first.'),
})
keyDocumentSchema.register(z.globalRegistry, { id: 'Key' })
export type KeyDocument = z.infer<typeof keyDocumentSchema>
