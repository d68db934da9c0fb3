// May this key do that? The same answer over HTTP, through the intake queue and for the client library.
import { type Credential, cachedCredential, type Permission } from '../accounts/store/credentials.ts'
import { noteKeyUse } from '../accounts/store/key-uses.ts'
import type { Redis } from '../redis/connect.ts'
import { Refusal } from './refusal.ts'

/**
 * The key's record; or a Refusal: `unauthorized` for a key that is unknown, expired or revoked, `forbidden` for one
 * that lacks the permission. No sentence repeats the key.
 */
export async function checkKey(
  redis: Redis,
  secret: string,
  permission: Permission,
  nowMs: number,
): Promise<Credential> {
  return checkCredential(redis, await cachedCredential(redis, secret), [permission], nowMs)
}

/** The same of a key's record that was found another way; one of the permissions will do. */
export function checkCredential(
  redis: Redis,
  credential: Credential | undefined,
  permissions: readonly Permission[],
  nowMs: number,
): Credential {
  if (credential === undefined) throw unauthorized('The key is not known.')
  if (credential.revoked) throw unauthorized('The key was revoked.')
  if (credential.expires_at !== 0 && credential.expires_at <= nowMs) throw unauthorized('The key has expired.')
  if (!permissions.some((permission) => credential.permissions.includes(permission))) {
    throw new Refusal('forbidden', 'forbidden', `The key lacks the permission ${permissions.join(' or ')}.`)
  }
  noteKeyUse(redis, credential, nowMs)
  return credential
}

/** A request without a key that can be used. */
export const unauthorized = (message: string): Refusal => new Refusal('unauthorized', 'unauthorized', message)
