// Nobody gives away more than they have: what a key may give to another one.
import { Refusal } from '../../messages/accept/refusal.ts'
import { isWithin } from '../networks.ts'
import { type Permission, permits } from '../permissions.ts'
import type { Credential } from '../store/credentials.ts'

/** What a key may do, and for how long. */
export interface Grant {
  permissions: readonly Permission[]
  /** Epoch ms; 0 is never. */
  expiresAtMs: number
  /** Empty for all. */
  senders: readonly number[]
  /** Empty for all. */
  addresses: readonly string[]
}

/**
 * What is wanted, with the bounds of the giver's key where it has some and nothing else is wanted. Throws a Refusal
 * `forbidden` when it is more than the giver has. Whoever is at the command line (no key) may give everything; a key that
 * is for some senders only gives nothing, and does not come here.
 */
export function boundedBy(giver: Credential | undefined, wanted: Grant): Grant {
  if (giver === undefined) return wanted
  const lacks = wanted.permissions.find((each) => !permits(giver, each))
  if (lacks !== undefined) throw tooMuch('permissions', `your key lacks ${lacks}, so it cannot give it`)
  const bounded = {
    permissions: wanted.permissions,
    expiresAtMs: wanted.expiresAtMs === 0 ? giver.expires_at : wanted.expiresAtMs,
    senders: wanted.senders,
    addresses: wanted.addresses.length === 0 ? giver.addresses : wanted.addresses,
  }
  if (giver.expires_at !== 0 && bounded.expiresAtMs > giver.expires_at) {
    throw tooMuch('expires_at', 'your key expires before that')
  }
  if (giver.addresses.length > 0 && !bounded.addresses.every((each) => isWithin(each, giver.addresses))) {
    throw tooMuch('addresses', 'your key may not be used from all of these')
  }
  return bounded
}

const tooMuch = (path: string, message: string): Refusal =>
  new Refusal('forbidden', 'forbidden', `${path}: ${message}.`, [{ path, message }])
