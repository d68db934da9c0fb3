// API keys. Only the SHA-256 of a key is stored; the key itself is shown once, when it is made. A key is `lw_`, 32
// random characters (190 bits) and 6 characters of checksum, so that a mistyped one is refused without a read of Redis.
// Processes cache a key's record for a second, so revoking it takes effect within that time.
import { createHash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { DAY_MS } from '../kernel/time-units.ts'
import { anyPermissionSchema, NO_ACCOUNT, OPERATOR, type Permission } from '../model/accounts/permissions.ts'
import { cached } from '../redis/cached.ts'
import type { Redis } from '../redis/connect.ts'
import { assertSameInstallation } from '../redis/installation.ts'
import { credentialKey, credentialsOfAccountKey } from '../redis/keys.ts'
import { readRecord } from '../redis/records.ts'
import { forgetKeyUses } from './key-uses.ts'

export { PERMISSIONS, type Permission, permissionSchema } from '../model/accounts/permissions.ts'

const credentialSchema = z
  .object({
    id: z.string(),
    /** What people call it; may be empty. */
    name: z.string().default(''),
    /** NO_ACCOUNT for a key of the whole installation. */
    account: z.coerce.number().int().nonnegative(),
    permissions: z
      .string()
      .transform((list) => list.split(',').filter(Boolean))
      .pipe(z.array(anyPermissionSchema)),
    /** Epoch ms; 0 is never. */
    expires_at: z.coerce.number(),
    created_at: z.coerce.number(),
    revoked: z.enum(['0', '1']).transform((flag) => flag === '1'),
    /** The only lanes that it may be used for; empty for all. */
    senders: z
      .string()
      .default('')
      .transform((list) => list.split(',').filter(Boolean).map(Number)),
    /** The only networks that it may be used from; empty for all. */
    addresses: z
      .string()
      .default('')
      .transform((list) => list.split(',').filter(Boolean)),
  })
  // Checks both, so that neither a record without its account nor one with a permission too many opens everything.
  .refine(({ account, permissions }) => (account === NO_ACCOUNT) === permissions.includes(OPERATOR), {
    error: 'a key of no account is an operator’s, and no other is',
  })
/** A key's record, without the key. */
export type Credential = z.infer<typeof credentialSchema>

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SHAPE = /^lw_[0-9A-Za-z]{38}$/

/** The hash that a key is stored under. */
export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let i = 0; i < 6; i += 1) {
    text = (ALPHABET[rest % 62] ?? '') + text
    rest = Math.floor(rest / 62)
  }
  return text
}

const newSecret = (): string => {
  const body = Array.from({ length: 32 }, () => ALPHABET[randomInt(62)]).join('')
  return `lw_${body}${checksum(body)}`
}

/** A new key and its id, before it is stored. */
export function newKey(): { id: string; secret: string } {
  const secret = newSecret()
  return { id: `key_${hashOf(secret).slice(0, 12)}`, secret }
}

/** How long a revoked or expired key is still listed, and refused as such. */
const ENDED_KEPT_MS = 90 * DAY_MS

/**
 * Stores a key and returns it in clear, for the only time. `expiresAtMs` 0 is never. It is a new one of `newKey` unless one is given;
 * `senders` and `addresses` limit its use, empty for all.
 */
export async function createCredential(
  redis: Redis,
  account: number,
  permissions: readonly Permission[],
  nowMs: number,
  expiresAtMs = 0,
  name = '',
  {
    key: { id, secret } = newKey(),
    senders = [],
    addresses = [],
  }: { key?: { id: string; secret: string }; senders?: readonly number[]; addresses?: readonly string[] } = {},
): Promise<{ id: string; secret: string }> {
  const hash = hashOf(secret)
  // The list comes first: a key that works must be on it, or nobody could revoke it.
  await redis.hset(credentialsOfAccountKey(account), id, hash)
  await redis.hset(credentialKey(hash), {
    id,
    name,
    account,
    permissions: permissions.join(','),
    expires_at: expiresAtMs,
    created_at: nowMs,
    revoked: '0',
    senders: senders.join(','),
    addresses: addresses.join(','),
  })
  if (expiresAtMs !== 0) await redis.pexpireat(credentialKey(hash), expiresAtMs + ENDED_KEPT_MS)
  return { id, secret }
}

/** The key's record, also of an expired or revoked one; undefined for an unknown key. */
export async function findCredential(redis: Redis, secret: string): Promise<Credential | undefined> {
  return isWellFormed(secret) ? readCredential(redis, hashOf(secret)) : undefined
}

/** The same, cached for a second, for every request with a key: a revocation takes that long. */
export async function cachedCredential(redis: Redis, secret: string): Promise<Credential | undefined> {
  return isWellFormed(secret) ? cachedRead(redis, hashOf(secret)) : undefined
}

/** The same by the hash of the key, for sessions. */
export const cachedCredentialOf = (redis: Redis, hash: string): Promise<Credential | undefined> =>
  cachedRead(redis, hash)

const isWellFormed = (secret: string): boolean =>
  SHAPE.test(secret) && checksum(secret.slice(3, 35)) === secret.slice(35)

/**
 * The keys of an account, revoked and expired ones too while they are kept, the oldest first. Throws a
 * CorruptRecordError.
 */
export async function listCredentials(redis: Redis, account: number): Promise<Credential[]> {
  const hashes = await redis.hvals(credentialsOfAccountKey(account))
  const found = await Promise.all(hashes.map((hash) => readCredential(redis, hash)))
  return found.filter((credential) => credential !== undefined).sort((a, b) => a.created_at - b.created_at)
}

/** One of them by its id; undefined when the account has no such key. Throws a CorruptRecordError. */
export async function findCredentialById(redis: Redis, account: number, id: string): Promise<Credential | undefined> {
  const hash = await redis.hget(credentialsOfAccountKey(account), id)
  return hash === null ? undefined : readCredential(redis, hash)
}

/** Revokes a key by its id; false when the account has no such key. */
export async function revokeCredential(redis: Redis, account: number, id: string): Promise<boolean> {
  const record = await recordOf(redis, account, id)
  if (record === undefined) return false
  await redis.hset(record, 'revoked', '1')
  await redis.pexpire(record, ENDED_KEPT_MS)
  return true
}

/** Lets a key expire at this time (epoch ms); false when the account has no such key. */
export async function expireCredential(redis: Redis, account: number, id: string, atMs: number): Promise<boolean> {
  const record = await recordOf(redis, account, id)
  if (record === undefined) return false
  await redis.hset(record, 'expires_at', atMs)
  await redis.pexpireat(record, atMs + ENDED_KEPT_MS)
  return true
}

/** The Redis key of a key's record, while it exists: writing to an expired one would bring back half of it. */
async function recordOf(redis: Redis, account: number, id: string): Promise<string | undefined> {
  const hash = await redis.hget(credentialsOfAccountKey(account), id)
  return hash !== null && (await redis.exists(credentialKey(hash))) === 1 ? credentialKey(hash) : undefined
}

/**
 * Takes keys off the list whose records have ended, and returns how many are left. Call it only while no other key of the
 * account is made: a new key is on the list before it has a record.
 */
export async function pruneCredentials(redis: Redis, account: number): Promise<number> {
  const listed = Object.entries(await redis.hgetall(credentialsOfAccountKey(account)))
  const there = await Promise.all(listed.map(([, hash]) => redis.exists(credentialKey(hash))))
  const gone = listed.flatMap(([id], i) => (there[i] === 1 ? [] : [id]))
  if (gone.length > 0) {
    await redis.hdel(credentialsOfAccountKey(account), ...gone)
    await forgetKeyUses(redis, account, Date.now(), gone)
  }
  return listed.length - gone.length
}

/** Forgets all keys of an account; they are refused within a second. Doing it again changes nothing. */
export async function forgetCredentials(redis: Redis, account: number): Promise<void> {
  const hashes = await redis.hvals(credentialsOfAccountKey(account))
  for (const hash of hashes) await redis.del(credentialKey(hash))
  await redis.del(credentialsOfAccountKey(account))
  await forgetKeyUses(redis, account, Date.now())
}

const cachedRead = cached(1_000, readCredential)

/** Rejects with an OtherInstallationError where nothing could be found. */
async function readCredential(redis: Redis, hash: string): Promise<Credential | undefined> {
  const raw = await redis.hgetall(credentialKey(hash))
  if (Object.keys(raw).length === 0) {
    await assertSameInstallation(redis)
    return undefined
  }
  return readRecord(credentialSchema, `key key_${hash.slice(0, 12)}`, raw)
}
