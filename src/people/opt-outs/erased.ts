// Opt-outs of erased people, without their numbers: a ZSET of HMACs by the time of the opt-out, beside the list of people. Later campaigns
// must still leave them out. A given number can be checked, but no number can be read from it.
//
// The HMAC uses a random key of the account, created when it is first needed and sealed under LANEWAY_SECRET_KEYS. So a copy of Redis
// alone reveals nothing, and `secrets rotate` reseals the key while the HMACs stay: they live as long as the account, and could not be
// computed again.
import { createHmac, randomBytes } from 'node:crypto'
import { createSeal, type Resealed, type Seal } from '../../kernel/seal.ts'
import { cached } from '../../redis/cached.ts'
import type { Redis } from '../../redis/connect.ts'
import { accountKey } from '../../redis/keys.ts'
import { replaceField } from '../../redis/records.ts'

/** The field of an account's record that has the key. */
export const ERASED_KEY_FIELD = 'opt_out.erased_key'
const KEY_BYTES = 32

let secretKeysOf = (): readonly string[] => {
  throw new Error('the secrets of erased opt-outs were not given')
}
let seal: Seal | undefined

/** Sets the secrets (LANEWAY_SECRET_KEYS) with which this process opens the keys of accounts. */
export function useOptOutSecrets(secretKeys: () => readonly string[]): void {
  secretKeysOf = secretKeys
  seal = undefined
}

function theSeal(): Seal {
  seal ??= createSeal(secretKeysOf())
  return seal
}

async function readKey(redis: Redis, account: number): Promise<string | undefined> {
  const sealed = await redis.hget(accountKey(account), ERASED_KEY_FIELD)
  return sealed === null ? undefined : theSeal().decrypt(sealed, { account, name: ERASED_KEY_FIELD })
}

/** Not cached while there is none: the first erasure takes effect at once. */
const keyOf = cached(60_000, readKey)

const hmacOf = (key: string, person: string): string =>
  createHmac('sha256', key).update(`laneway opt-out\n${person}`).digest('base64url')

/**
 * The HMAC of each person; undefined for an account where nobody was erased who had opted out. Throws a SealError when the account's
 * key was sealed under a secret that this process does not have.
 */
export async function erasedHmacsOf(
  redis: Redis,
  account: number,
  people: readonly string[],
): Promise<string[] | undefined> {
  const key = await keyOf(redis, account)
  return key === undefined ? undefined : people.map((person) => hmacOf(key, person))
}

/** The same, with a new key for the account where there was none. */
export async function makeErasedHmacs(redis: Redis, account: number, people: readonly string[]): Promise<string[]> {
  const known = await erasedHmacsOf(redis, account, people)
  if (known !== undefined) return known
  const made = theSeal().encrypt(randomBytes(KEY_BYTES).toString('base64url'))({ account, name: ERASED_KEY_FIELD })
  await redis.hsetnx(accountKey(account), ERASED_KEY_FIELD, made)
  // Another process may have been faster. Not from the cache, which may be about to answer somebody that there is none.
  const key = await readKey(redis, account)
  if (key === undefined) throw new Error(`account ${account} has no key for erased opt-outs, right after it was made`)
  return people.map((person) => hmacOf(key, person))
}

/** Seals the account's key under the first of the secrets. Throws a SealError. */
export async function resealErasedKey(redis: Redis, by: Seal, account: number): Promise<Resealed> {
  const before = await redis.hget(accountKey(account), ERASED_KEY_FIELD)
  if (before === null) return { sealed: 0, fresh: 0 }
  const { secrets, ...counts } = by.reseal([before], { account, name: ERASED_KEY_FIELD })
  const after = secrets[0] ?? before
  if (after === before) return counts
  // Another process may have sealed it at the same moment; the key itself never changes.
  const isDone = await replaceField(redis, accountKey(account), ERASED_KEY_FIELD, { before, after })
  return isDone ? counts : { sealed: 0, fresh: 1 }
}
