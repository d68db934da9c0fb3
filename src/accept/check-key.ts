// May this key do that? The same answer over HTTP, through the intake queue and for the client library.
import { type Permission, permits } from '../accounts/permissions.ts'
import { type Credential, cachedCredential } from '../accounts/store/credentials.ts'
import { noteKeyUse } from '../accounts/store/key-uses.ts'
import type { Redis } from '../redis/connect.ts'
import { Refusal, type RefusalKind } from './refusal.ts'

/** A key that cannot be used, or not for this. `why` is a word, or the permission that it lacks. */
export class KeyRefusal extends Refusal {
  override name = 'KeyRefusal'
  /** Undefined for a key that nobody was given. */
  readonly key: Credential | undefined
  readonly why: string

  constructor(kind: RefusalKind & ('unauthorized' | 'forbidden'), message: string, why: string, key?: Credential) {
    super(kind, kind, message)
    this.key = key
    this.why = why
  }
}

/**
 * The key's record; or a KeyRefusal: `unauthorized` for a key that is unknown, expired or revoked, `forbidden` for one
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
  if (credential === undefined) throw new KeyRefusal('unauthorized', 'The key is not known.', 'unknown')
  assertPermitted(credential, permissions, nowMs)
  noteKeyUse(redis, credential, nowMs)
  return credential
}

/** Throws a KeyRefusal when the key may not be used, or not for this. */
function assertPermitted(key: Credential, permissions: readonly Permission[], nowMs: number): void {
  if (key.revoked) throw new KeyRefusal('unauthorized', 'The key was revoked.', 'revoked', key)
  if (key.expires_at !== 0 && key.expires_at <= nowMs) {
    throw new KeyRefusal('unauthorized', 'The key has expired.', 'expired', key)
  }
  if (!permissions.some((permission) => permits(key, permission))) {
    const lacking = permissions.join(' or ')
    throw new KeyRefusal('forbidden', `The key lacks the permission ${lacking}.`, lacking, key)
  }
}

/** A request without a key that can be used. */
export const unauthorized = (message: string): Refusal => new Refusal('unauthorized', 'unauthorized', message)
