// What a key may do. Apart from the keys themselves, so that what only names a permission loads no Redis.
import { z } from 'zod'

/** What a key of an account may have. */
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

/** The whole installation: a key of no account, which may do everything in the name of any account. */
export const OPERATOR = 'operator'

export type Permission = (typeof PERMISSIONS)[number] | typeof OPERATOR

/** What a key of an account may be given. */
export const permissionSchema = z.enum(PERMISSIONS)
export const anyPermissionSchema = z.enum([...PERMISSIONS, OPERATOR])

/** The account that a key of the whole installation belongs to: there is none. */
export const NO_ACCOUNT = 0

/** Of a key as much as tells what it may do. */
export interface Permitted {
  readonly permissions: readonly Permission[]
}

/** Whether the key is one for the whole installation. */
export const isOperator = ({ permissions }: Permitted): boolean => permissions.includes(OPERATOR)

/**
 * What a session of the console that this key opened may do, and what the key may give to another one: with `admin`, all
 * that a key of the account can have, unless it is for some senders only. Used as a key it does only what it names.
 */
export const inCharge = ({
  permissions,
  senders,
}: Permitted & { readonly senders: readonly number[] }): Permission[] =>
  permissions.includes('admin') && senders.length === 0
    ? [...new Set([...PERMISSIONS, ...permissions])]
    : [...permissions]

/** Whether the key has the permission; an operator's has every one. */
export const permits = (key: Permitted, permission: Permission): boolean =>
  key.permissions.includes(permission) || isOperator(key)
