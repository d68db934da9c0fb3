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
 * What a key may be given by one with these permissions, and what a session of the console that it opened may do: who has
 * `admin` runs the account, so all that a key of the account can have. Used as a key it does only what it names.
 */
export const inCharge = (permissions: readonly Permission[]): Permission[] =>
  permissions.includes('admin') ? [...new Set([...PERMISSIONS, ...permissions])] : [...permissions]

/** Whether the key has the permission; an operator's has every one. */
export const permits = (key: Permitted, permission: Permission): boolean =>
  key.permissions.includes(permission) || isOperator(key)
