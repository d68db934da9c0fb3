// Idempotency keys: which message a client's key stands for, and which body it came with.
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Redis } from './redis.ts'
import { idempotencyKey } from './redis-keys.ts'

/** Longer than the 8 days that are promised, shorter than the least retention of a record. */
const KEPT_SECONDS = 8.5 * 86_400

/** A digest of a request body without its credential; the order of keys does not matter. */
export function bodyDigest(body: Record<string, unknown>): string {
  const { api_key: _credential, ...rest } = body
  return createHash('sha256').update(canonical(rest)).digest('base64url').slice(0, 27)
}

/** The same digest of a body of some MB, with turns for others in between: 200,000 values take 300 ms. */
export async function largeBodyDigest(body: Record<string, unknown>): Promise<string> {
  const { api_key: _credential, ...rest } = body
  const hash = createHash('sha256')
  let text = ''
  for (const piece of canonicalPieces(rest)) {
    text += piece
    if (text.length < PIECE_LENGTH) continue
    hash.update(text)
    text = ''
    await nextTurn()
  }
  return hash.update(text).digest('base64url').slice(0, 27)
}

/** Characters that are put together in one turn: some 3 ms. */
const PIECE_LENGTH = 32 * 1_024

/**
 * Maps the key to `proposed` unless it stands for something already, and returns what it stands for. One atomic SET,
 * so of many requests at once all get the same. The mapping comes before the work: a crash in between leaves a key
 * whose message does not exist yet, which the next request with it then makes.
 */
export async function rememberKey(
  redis: Redis,
  where: { account: number; route: string; key: string },
  proposed: { id: string; digest: string },
): Promise<{ id: string; digest: string; isNew: boolean }> {
  const value = `${proposed.id} ${proposed.digest}`
  const earlier = await redis.set(
    idempotencyKey(where.account, where.route, where.key),
    value,
    'EX',
    KEPT_SECONDS,
    'NX',
    'GET',
  )
  const [id = '', digest = ''] = (earlier ?? value).split(' ')
  return { id, digest, isNew: earlier === null }
}

/** What the key stands for, if anything. */
export async function recallKey(
  redis: Redis,
  where: { account: number; route: string; key: string },
): Promise<{ id: string; digest: string } | undefined> {
  const stored = await redis.get(idempotencyKey(where.account, where.route, where.key))
  if (stored === null) return undefined
  const [id = '', digest = ''] = stored.split(' ')
  return { id, digest }
}

/** What `canonical` gives, piece by piece. */
function* canonicalPieces(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) {
    yield JSON.stringify(value) ?? 'null'
    return
  }
  const isList = Array.isArray(value)
  yield isList ? '[' : '{'
  let comma = ''
  const entries = isList ? value.entries() : Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [key, each] of entries) {
    yield isList ? comma : `${comma}${JSON.stringify(key)}:`
    yield* canonicalPieces(each)
    comma = ','
  }
  yield isList ? ']' : '}'
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(',')}}`
  }
  return JSON.stringify(value) ?? 'null'
}
