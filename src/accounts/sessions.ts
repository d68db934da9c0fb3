// Sessions of the console. A browser must not keep a key where scripts can read it, so it gets a random id in a cookie
// instead; only the SHA-256 of the id is stored. A session permits what its key permits, and nothing once that is revoked.
import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { HOUR_MS } from '../kernel/time-units.ts'
import type { Redis } from '../redis/connect.ts'
import { assertSameInstallation } from '../redis/installation.ts'
import { sessionKey, sessionsOfCredentialKey } from '../redis/keys.ts'
import { type Credential, cachedCredentialOf, hashOf } from './credentials.ts'

/** A session ends so long after its sign-in, however busy it is. */
export const SESSION_MS = 12 * HOUR_MS
/** Sessions of one key; the oldest ends when there are more. */
const MOST_PER_KEY = 50

const ID = /^[\w-]{43}$/
const sessionSchema = z.object({ key: z.string(), expires_at: z.coerce.number() })

const digest = (id: string): string => createHash('sha256').update(id).digest('hex')

/** An active session, and the record of its key. */
export interface Session {
  credential: Credential
  /** Epoch ms. */
  expiresAtMs: number
}

/** Begins a session of a key that was checked; returns the id for its cookie, which is stored nowhere. */
export async function createSession(
  redis: Redis,
  secret: string,
  nowMs: number,
): Promise<{ id: string; expiresAtMs: number }> {
  const id = randomBytes(32).toString('base64url')
  const key = hashOf(secret)
  const own = sessionsOfCredentialKey(key)
  const expiresAtMs = nowMs + SESSION_MS
  // On the list first: every active session must be counted.
  await redis.zadd(own, nowMs, digest(id))
  await redis.pexpireat(own, expiresAtMs)
  await redis.set(sessionKey(digest(id)), JSON.stringify({ key, expires_at: expiresAtMs }), 'PXAT', expiresAtMs)
  const tooMany = await redis.zrange(own, '0', String(-MOST_PER_KEY - 1))
  for (const oldest of tooMany) await end(redis, key, oldest)
  return { id, expiresAtMs }
}

/**
 * The session of a cookie; undefined when there is none, or it has ended. Its key may have expired or been revoked since:
 * that is for the caller to check.
 */
export async function findSession(redis: Redis, id: string): Promise<Session | undefined> {
  const session = await readSession(redis, id)
  const credential = session && (await cachedCredentialOf(redis, session.key))
  if (session === undefined || credential === undefined) return undefined
  return { credential, expiresAtMs: session.expires_at }
}

/** Ends the session of a cookie. Ending one that is over changes nothing. */
export async function endSession(redis: Redis, id: string): Promise<void> {
  const session = await readSession(redis, id)
  if (session) await end(redis, session.key, digest(id))
}

async function readSession(redis: Redis, id: string): Promise<z.infer<typeof sessionSchema> | undefined> {
  const stored = ID.test(id) ? await redis.get(sessionKey(digest(id))) : null
  if (stored !== null) return sessionSchema.parse(JSON.parse(stored))
  await assertSameInstallation(redis)
  return undefined
}

async function end(redis: Redis, key: string, digested: string): Promise<void> {
  await redis.del(sessionKey(digested))
  // If the process dies before this, one entry stays on the list until the list expires.
  await redis.zrem(sessionsOfCredentialKey(key), digested)
}
