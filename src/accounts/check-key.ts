// Checks whether an API key may do something, alike over HTTP, through the intake queue and for the client library.
import { insideOf } from '../kernel/networks.ts'
import { Refusal, type RefusalKind } from '../kernel/refusal.ts'
import { type Permission, permits } from '../model/accounts/permissions.ts'
import type { Redis } from '../redis/connect.ts'
import { type Credential, cachedCredential } from './credentials.ts'
import { noteKeyUse } from './key-uses.ts'

/** The refusal of a key. `why` is a word, or the permission that it lacks. */
export class KeyRefusal extends Refusal {
  override name = 'KeyRefusal'
  /** Undefined for an unknown key. */
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
 * that lacks the permission or may not be used from there. No sentence repeats the key.
 */
export async function checkKey(
  redis: Redis,
  secret: string,
  permission: Permission,
  nowMs: number,
): Promise<Credential> {
  return checkCredential(redis, await cachedCredential(redis, secret), [permission], nowMs)
}

/**
 * The same for a record that was found another way; one of the permissions suffices. `from` returns the client's address.
 */
export function checkCredential(
  redis: Redis,
  credential: Credential | undefined,
  permissions: readonly Permission[],
  nowMs: number,
  from?: () => string,
): Credential {
  if (credential === undefined) throw new KeyRefusal('unauthorized', 'The key is not known.', 'unknown')
  assertPermitted(credential, permissions, nowMs, from)
  noteKeyUse(redis, credential, nowMs, from)
  return credential
}

/**
 * Throws a KeyRefusal if the key may not be used, or not for this, or not from this address. Without `from` the address is
 * not known, and a key that is for some addresses is refused.
 */
function assertPermitted(
  key: Credential,
  permissions: readonly Permission[],
  nowMs: number,
  from: (() => string) | undefined,
): void {
  if (key.revoked) throw new KeyRefusal('unauthorized', 'The key was revoked.', 'revoked', key)
  if (key.expires_at !== 0 && key.expires_at <= nowMs) {
    throw new KeyRefusal('unauthorized', 'The key has expired.', 'expired', key)
  }
  if (!permissions.some((permission) => permits(key, permission))) {
    const lacking = permissions.join(' or ')
    throw new KeyRefusal('forbidden', `The key lacks the permission ${lacking}.`, lacking, key)
  }
  if (key.addresses.length > 0 && !(from !== undefined && mayComeFrom(key)(from()))) {
    throw new KeyRefusal('forbidden', 'The key may not be used from this address.', 'address', key)
  }
}

/** Records are cached for a second and then read again, so each of them is checked once. */
const networks = new WeakMap<Credential, (address: string) => boolean>()

function mayComeFrom(key: Credential): (address: string) => boolean {
  const known = networks.get(key) ?? insideOf(key.addresses)
  networks.set(key, known)
  return known
}

/** Throws a Refusal with the sentence when the key is for other senders only. */
export function assertForSender(
  { senders }: { senders: readonly number[] },
  lane: number,
  sentence = 'The key is not for this sender.',
): void {
  if (senders.length === 0 || senders.includes(lane)) return
  throw new Refusal('forbidden', 'forbidden', sentence)
}

/** A request without a key that can be used. */
export const unauthorized = (message: string): Refusal => new Refusal('unauthorized', 'unauthorized', message)
