// Creates, lists, revokes and rotates keys: the same over HTTP and on the command line.

import { listAccounts } from '../accounts/accounts.ts'
import {
  type Credential,
  createCredential,
  expireCredential,
  findCredentialById,
  listCredentials,
  pruneCredentials,
  revokeCredential,
} from '../accounts/credentials.ts'
import { type KeyUses, readKeyUses } from '../accounts/key-uses.ts'
import { senderIds } from '../accounts/named-senders.ts'
import { iso, isoOrNull } from '../kernel/instant.ts'
import { isWithin } from '../kernel/networks.ts'
import { doesNotExist, Refusal } from '../kernel/refusal.ts'
import {
  hasAccount,
  isOperator,
  type KeyDocument,
  NO_ACCOUNT,
  type Permission,
  permits,
} from '../model/accounts/permissions.ts'
import type { Redis } from '../redis/connect.ts'
import { keysLockKey } from '../redis/keys.ts'
import { withLock } from '../redis/lock.ts'

/** Of one account, revoked and expired ones included while they are kept. */
const KEYS_MAX = 1_000

/** A key to make. `key` is the new one, made before (newKey). */
export interface NewKey extends Omit<Grant, 'senders'> {
  account: number
  name: string
  /** Empty for all; otherwise by number, name or id. */
  senders: readonly string[]
  key: { id: string; secret: string }
}

/** A key in the one answer that shows it; `key` is null when it existed before. */
type MadeKey = KeyDocument & { key: string | null }

/**
 * Creates a key with at most the permissions of the giver's (undefined: the command line), and shows it. An existing key of this id stays
 * as it is. Throws a Refusal: `forbidden`, `too_many_keys`, or for senders that are not the account's.
 */
export async function makeKey(
  redis: Redis,
  giver: Credential | undefined,
  wanted: NewKey,
  nowMs: number,
): Promise<MadeKey> {
  const { account, name, key } = wanted
  const grant = boundedBy(giver, { ...wanted, senders: await senderIds(redis, account, wanted.senders) })
  return withLock(redis, keysLockKey(account), async (assertHeld) => {
    // Of several requests with one Idempotency-Key: a second secret under the id could not be revoked.
    const there = await findCredentialById(redis, account, key.id)
    if (there !== undefined) return { ...(await showKey(redis, account, key.id, nowMs)), key: null }
    if ((await pruneCredentials(redis, account)) >= KEYS_MAX) {
      const sentence = `There are ${KEYS_MAX} keys; revoked and expired ones are forgotten after 90 days.`
      throw new Refusal('in_the_way', 'too_many_keys', sentence)
    }
    await assertHeld()
    await createCredential(redis, account, grant.permissions, nowMs, grant.expiresAtMs, name, { key, ...grant })
    return { ...(await showKey(redis, account, key.id, nowMs)), key: key.secret }
  })
}

/** The keys of an account, the oldest first; of NO_ACCOUNT those of the whole installation. */
export async function showKeys(redis: Redis, account: number, nowMs: number): Promise<KeyDocument[]> {
  const [keys, uses] = await Promise.all([listCredentials(redis, account), readKeyUses(redis, account, nowMs)])
  return keys.map((key) => documentOf(key, uses.get(key.id), nowMs))
}

/** One key. Throws a Refusal when the account has none of this id. */
export async function showKey(redis: Redis, account: number, id: string, nowMs: number): Promise<KeyDocument> {
  const key = await existingKey(redis, account, id)
  return documentOf(key, (await readKeyUses(redis, account, nowMs)).get(id), nowMs)
}

/** The account that a key belongs to, NO_ACCOUNT for one of an operator; undefined when nobody has it. Asks account by account. */
export async function ownerOfKey(redis: Redis, id: string): Promise<number | undefined> {
  if (await findCredentialById(redis, NO_ACCOUNT, id)) return NO_ACCOUNT
  for (const account of await listAccounts(redis)) {
    if (await findCredentialById(redis, account.id, id)) return account.id
  }
  return undefined
}

async function existingKey(redis: Redis, account: number, id: string): Promise<Credential> {
  const key = await findCredentialById(redis, account, id)
  if (key === undefined) throw doesNotExist('The key')
  return key
}

/**
 * Revokes a key; it is refused everywhere within a second. With `keepsOne`, the last key that may manage the account is
 * refused (`last_admin_key`), because nobody could make another one over HTTP: two that revoke each other's come one
 * after the other. Throws a Refusal when the account has no such key.
 */
export function revokeKey(
  redis: Redis,
  account: number,
  id: string,
  { keepsOne }: { keepsOne: boolean },
  nowMs: number,
) {
  return withLock(redis, keysLockKey(account), async (assertHeld) => {
    const key = await existingKey(redis, account, id)
    if (keepsOne && manages(key, nowMs)) {
      const others = (await listCredentials(redis, account)).filter((each) => each.id !== id)
      if (!others.some((each) => manages(each, nowMs))) {
        const what = account === NO_ACCOUNT ? 'operator' : 'admin'
        const sentence = `This is the last key with the permission ${what}; make another one first.`
        throw new Refusal('in_the_way', 'last_admin_key', sentence)
      }
    }
    await assertHeld()
    await revokeCredential(redis, account, id)
    return showKey(redis, account, id, nowMs)
  })
}

/** A key that is limited to some senders cannot create keys. */
const manages = (key: Credential, nowMs: number): boolean =>
  stateOf(key, nowMs) === 'active' && (isOperator(key) || hasAccount(key))

/**
 * Creates a key with the same permissions as another one, which ends after `overlapMs`: time to give the new one to whatever uses it. If
 * the process dies in between, both keys are valid; rotate again. Throws a Refusal as `makeKey` does, and for a key that does not exist
 * or is no longer valid.
 */
export async function rotateKey(
  redis: Redis,
  giver: Credential | undefined,
  { account, id, overlapMs, key }: { account: number; id: string; overlapMs: number; key: NewKey['key'] },
  nowMs: number,
): Promise<{ made: MadeKey; replaced: KeyDocument }> {
  const old = await existingKey(redis, account, id)
  const state = stateOf(old, nowMs)
  if (state !== 'active') throw new Refusal('in_the_way', 'wrong_state', `The key is ${state}; make a new one.`)
  const { permissions, expires_at: expiresAtMs, addresses, name } = old
  const senders = old.senders.map(String)
  const wanted = { account, name, key, permissions, expiresAtMs, senders, addresses }
  const made = await makeKey(redis, giver, wanted, nowMs)
  await endReplaced(redis, { account, id, overlapMs }, nowMs)
  return { made, replaced: await showKey(redis, account, id, nowMs) }
}

/** Lets a key end with its overlap, which began at this time (epoch ms), unless it ends sooner. Idempotent. */
export async function endReplaced(
  redis: Redis,
  { account, id, overlapMs }: { account: number; id: string; overlapMs: number },
  fromMs: number,
): Promise<void> {
  const { expires_at: expiresAtMs } = await existingKey(redis, account, id)
  const endsAt = fromMs + overlapMs
  if (expiresAtMs === 0 || endsAt < expiresAtMs) await expireCredential(redis, account, id, endsAt)
}

function stateOf(key: Credential, nowMs: number): KeyDocument['state'] {
  if (key.revoked) return 'revoked'
  return key.expires_at !== 0 && key.expires_at <= nowMs ? 'expired' : 'active'
}

const documentOf = (key: Credential, uses: KeyUses | undefined, nowMs: number): KeyDocument => ({
  id: key.id,
  name: key.name,
  account: key.account === NO_ACCOUNT ? null : key.account,
  permissions: key.permissions,
  senders: key.senders.length === 0 ? null : key.senders,
  addresses: key.addresses.length === 0 ? null : key.addresses,
  state: stateOf(key, nowMs),
  expires_at: key.expires_at === 0 ? null : iso(key.expires_at),
  created_at: iso(key.created_at),
  last_used_at: isoOrNull(uses?.lastMs),
  last_used_from: uses?.days.find(({ from }) => from !== null)?.from ?? null,
  uses: [...(uses?.days ?? [])],
})

/** The permissions of a key, and their end. */
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
 * The wanted limits, which default to those of the giver's key. Throws a Refusal `forbidden` when they exceed the giver's. The command line
 * (no key) may give everything; a key that is limited to some senders cannot give any, and is refused before.
 */
function boundedBy(giver: Credential | undefined, wanted: Grant): Grant {
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
