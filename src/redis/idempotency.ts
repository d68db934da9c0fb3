// Idempotency keys: which message a client's key stands for, and which body it came with.
import { createHash } from 'node:crypto'
import { configure } from 'safe-stable-stringify'
import { holdsMoreThan } from '../kernel/bounded.ts'
import type { Redis } from './connect.ts'
import { idempotencyKey } from './keys.ts'
import { deleteIf } from './lock.ts'
import { assertReplicated } from './replication.ts'

/** Longer than the 8 days that are promised, shorter than the least retention of a record. */
const KEPT_SECONDS = 8.5 * 86_400

/** A digest of a request body without its credential; the order of keys does not matter. */
export function bodyDigest(body: Record<string, unknown>): string {
  const { api_key: _credential, ...rest } = body
  return createHash('sha256').update(canonical(rest)).digest('base64url').slice(0, 27)
}

/** Most values digested of one message of a batch: of what holds more, nothing is ever accepted. */
const ITEM_VALUES_MAX = 10_000

/**
 * The digest of a batch's body, `{ messages }`, made item by item so that others get a turn: `inSlices` calls it for each
 * item in order. It is the same as `bodyDigest` of the body, unless an item is so large that it cannot be accepted.
 */
export async function batchDigest(
  items: readonly unknown[],
  inSlices: (items: readonly unknown[], work: (item: unknown) => string) => Promise<string[]>,
): Promise<string> {
  const hash = createHash('sha256').update('{"messages":[')
  let separator = ''
  await inSlices(items, (item) => {
    const isTooLarge = holdsMoreThan(item, { values: ITEM_VALUES_MAX })
    hash.update(separator + (isTooLarge ? '"too large"' : canonical(item)))
    separator = ','
    return ''
  })
  return hash.update(']}').digest('base64url').slice(0, 27)
}

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
  const value = storedValue(proposed)
  const key = idempotencyKey(where.account, where.route, where.key)
  const earlier = await redis.set(key, value, 'EX', KEPT_SECONDS, 'NX', 'GET')
  await assertReplicated(redis, [key])
  const [id = '', digest = ''] = (earlier ?? value).split(' ')
  return { id, digest, isNew: earlier === null }
}

/** What the key stands for, if anything. */
export async function recallKey(
  redis: Redis,
  where: { account: number; route: string; key: string },
): Promise<{ id: string; digest: string } | undefined> {
  const key = idempotencyKey(where.account, where.route, where.key)
  const stored = await redis.get(key)
  if (stored === null) return undefined
  await assertReplicated(redis, [key])
  const [id = '', digest = ''] = stored.split(' ')
  return { id, digest }
}

/** Lets the key stand for nothing again, unless it stands for something else by now. */
export async function forgetKey(
  redis: Redis,
  where: { account: number; route: string; key: string },
  kept: { id: string; digest: string },
): Promise<void> {
  await deleteIf(redis, idempotencyKey(where.account, where.route, where.key), storedValue(kept))
}

const storedValue = ({ id, digest }: { id: string; digest: string }): string => `${id} ${digest}`

/** JSON with the members of every object in one order. Not cut off at any depth: what differs must not look the same. */
const stringify = configure({ deterministic: true, circularValue: Error })
const canonical = (value: unknown): string => stringify(value) ?? 'null'
