// Idempotency keys: the value that a client's key maps to, and the body that came with it.

import { createHash } from 'node:crypto'
import { configure } from 'safe-stable-stringify'
import { IDEMPOTENCY_KEY_MAX } from '../kernel/body-limits.ts'
import { holdsMoreThan } from '../kernel/json-size.ts'
import { invalidFields, Refusal } from '../kernel/refusal.ts'
import type { Redis } from './connect.ts'
import { replyError } from './errors.ts'
import { idempotencyKey } from './keys.ts'
import { deleteIf } from './lock.ts'
import { assertReplicated } from './replication.ts'
import { clockOffMs } from './trusted-clock.ts'

/** Longer than the 8 days that are promised, shorter than the least retention of a record. */
const KEPT_SECONDS = 8.5 * 86_400
/** By so much the clock of Redis may leap ahead and no key is forgotten that is promised. */
const LEAP_HARMLESS_MS = 0.5 * 86_400_000

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

/** A client's key on one route of its account, with the digest of the body that it came with. */
export interface KeyUse {
  account: number
  route: string
  key: string
  digest: string
}

/** The client's key, or undefined when it brought none; a Refusal when it is too long. */
export function checkedKey(key: string | undefined): string | undefined {
  if (key === undefined || key === '') return undefined
  if (key.length > IDEMPOTENCY_KEY_MAX) {
    const message = `at most ${IDEMPOTENCY_KEY_MAX} characters, got ${key.length}`
    throw invalidFields([{ path: 'Idempotency-Key', message }])
  }
  return key
}

/** The value of the key, if any. Throws a Refusal when it came with another body. */
export async function recallKey(redis: Redis, use: KeyUse): Promise<string | undefined> {
  const key = keyOf(use)
  const stored = await redis.get(key)
  if (stored === null) return undefined
  await assertReplicated(redis, [key])
  return nameIn(stored, use)
}

/**
 * Maps the key to `name` unless it has a value already, and returns its value. One atomic SET,
 * so of many requests at once all get the same. The mapping comes before the work: a crash in between leaves a key
 * whose message does not exist yet, which the next request with it then makes. Throws a Refusal when it came with another body.
 *
 * While the clock of Redis is not believed because it has leapt ahead, a key that is not known may be one that Redis has
 * forgotten too soon, and its message would go out twice: then this throws, as while Redis is away.
 */
export async function rememberKey(redis: Redis, use: KeyUse, name: string): Promise<string> {
  if (clockOffMs(redis) > LEAP_HARMLESS_MS) {
    const kept = await recallKey(redis, use)
    if (kept !== undefined) return kept
    throw replyError('CLOCK The clock of Redis has leapt')
  }
  const key = keyOf(use)
  const value = storedValue(use, name)
  const earlier = await redis.set(key, value, 'EX', KEPT_SECONDS, 'NX', 'GET')
  await assertReplicated(redis, [key])
  return nameIn(earlier ?? value, use)
}

/** Removes the value of the key, unless it is another than `name` by now. */
export async function forgetKey(redis: Redis, use: KeyUse, name: string): Promise<void> {
  await deleteIf(redis, keyOf(use), storedValue(use, name))
}

const keyOf = ({ account, route, key }: KeyUse): string => idempotencyKey(account, route, key)

const storedValue = ({ digest }: KeyUse, name: string): string => `${name} ${digest}`

function nameIn(stored: string, use: KeyUse): string {
  const [name = '', digest] = stored.split(' ')
  if (digest === use.digest) return name
  const sentence = 'This Idempotency-Key was used with another body; use a new key for a new message.'
  throw new Refusal('conflict', 'idempotency_key_reused', sentence)
}

/** JSON with the members of every object in one order. Not cut off at any depth: what differs must not look the same. */
const stringify = configure({ deterministic: true, circularValue: Error })
const canonical = (value: unknown): string => stringify(value) ?? 'null'
