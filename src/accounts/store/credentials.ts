// API keys. Only the SHA-256 of a key is stored; the key itself is shown once, when it is made. A key is `lw_`, 32
// random characters (190 bits) and 6 characters of checksum, so that a mistyped one is refused without asking Redis.
import { createHash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { cached } from '../../redis/cached.ts'
import type { Redis } from '../../redis/connect.ts'
import { readRecord } from '../../redis/corrupt-record.ts'
import { credentialKey, credentialsOfAccountKey } from '../../redis/keys.ts'

export const PERMISSIONS = [
  'messages:send',
  'messages:read',
  'contacts:read',
  'contacts:write',
  'gallery',
  'gallery:system',
  'admin',
] as const
export type Permission = (typeof PERMISSIONS)[number]
export const permissionSchema = z.enum(PERMISSIONS)

const credentialSchema = z.object({
  id: z.string(),
  /** What people call it; may be empty. */
  name: z.string().default(''),
  account: z.coerce.number().int().positive(),
  permissions: z
    .string()
    .transform((list) => list.split(',').filter(Boolean))
    .pipe(z.array(permissionSchema)),
  /** Epoch ms; 0 is never. */
  expires_at: z.coerce.number(),
  created_at: z.coerce.number(),
  revoked: z.enum(['0', '1']).transform((flag) => flag === '1'),
})
/** What is known of a key, without the key. */
export type Credential = z.infer<typeof credentialSchema>

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SHAPE = /^lw_[0-9A-Za-z]{38}$/

/** What a key is stored under. */
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

/** Makes a key and returns it in clear, for the only time. `expiresAtMs` 0 is never. */
export async function createCredential(
  redis: Redis,
  account: number,
  permissions: readonly Permission[],
  nowMs: number,
  expiresAtMs = 0,
  name = '',
): Promise<{ id: string; secret: string }> {
  const secret = newSecret()
  const hash = hashOf(secret)
  const id = `key_${hash.slice(0, 12)}`
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
  })
  return { id, secret }
}

/** The key's record, whether or not it has expired or was revoked; undefined for a key nobody has been given. */
export async function findCredential(redis: Redis, secret: string): Promise<Credential | undefined> {
  return isWellFormed(secret) ? readCredential(redis, hashOf(secret)) : undefined
}

/** The same as it was within the last second, for every request that brings a key: a revocation takes that long. */
export async function cachedCredential(redis: Redis, secret: string): Promise<Credential | undefined> {
  return isWellFormed(secret) ? cachedRead(redis, hashOf(secret)) : undefined
}

/** The same by what the key is stored under, for sessions. */
export const cachedCredentialOf = (redis: Redis, hash: string): Promise<Credential | undefined> =>
  cachedRead(redis, hash)

const isWellFormed = (secret: string): boolean =>
  SHAPE.test(secret) && checksum(secret.slice(3, 35)) === secret.slice(35)

/** The keys of an account, revoked and expired ones too, the oldest first. Throws a CorruptRecordError. */
export async function listCredentials(redis: Redis, account: number): Promise<Credential[]> {
  const hashes = await redis.hvals(credentialsOfAccountKey(account))
  const found = await Promise.all(hashes.map((hash) => readCredential(redis, hash)))
  return found.filter((credential) => credential !== undefined).sort((a, b) => a.created_at - b.created_at)
}

/** Revokes a key by its id; false when the account has no such key. */
export async function revokeCredential(redis: Redis, account: number, id: string): Promise<boolean> {
  const hash = await redis.hget(credentialsOfAccountKey(account), id)
  if (hash === null) return false
  await redis.hset(credentialKey(hash), 'revoked', '1')
  return true
}

const cachedRead = cached(1_000, readCredential)

async function readCredential(redis: Redis, hash: string): Promise<Credential | undefined> {
  const raw = await redis.hgetall(credentialKey(hash))
  if (Object.keys(raw).length === 0) return undefined
  return readRecord(credentialSchema, `key key_${hash.slice(0, 12)}`, raw)
}
