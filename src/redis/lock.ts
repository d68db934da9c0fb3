// Leases and locks: keys that name their holder and expire, so that a holder that died frees them.
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from './connect.ts'
import { defineScript } from './lua.ts'

const holdScript = defineScript(import.meta.url, 'hold-lease')
const deleteIfScript = defineScript(import.meta.url, 'delete-if')

/**
 * Makes `holder` the holder of the key for `ms`, or renews that. False while another one holds it, and with
 * `mayTake` false also when nobody does. Works on a full Redis.
 */
export async function holdLease(
  redis: Redis,
  key: string,
  { holder, ms, mayTake = true }: { holder: string; ms: number; mayTake?: boolean },
): Promise<boolean> {
  return (await holdScript(redis, { lease: key }, { holder, ms, mayTake })) === 1
}

/** Deletes the key unless it has another value by now; returns whether it did. Works on a full Redis. */
export async function deleteIf(redis: Redis, key: string, value: string): Promise<boolean> {
  return (await deleteIfScript(redis, { key }, { value })) === 1
}

/** How long a worker stays elected, as sweeper or relay, without renewal: it renews every second. */
export const ELECTED_MS = 3_000

/** A holder that died frees the lock after this. */
const LOCK_MS = 10_000
/** How long a second caller waits for it. */
const WAIT_MS = 30_000
const ASK_AGAIN_MS = 50

/**
 * Does the work while nobody else holds the lock; for what people do at terminals, no message waits for one.
 * `assertHeld` throws once the lock may be lost, as after this process was frozen: call it right before what cannot be
 * taken back. Rejects when the lock does not come free within 30 s.
 */
export async function withLock<T>(
  redis: Redis,
  key: string,
  work: (assertHeld: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const holder = newHolder()
  const giveUpAt = performance.now() + WAIT_MS
  while (!(await holdLease(redis, key, { holder, ms: LOCK_MS }))) {
    if (performance.now() > giveUpAt) throw new Error('Another command is doing the same at this moment; try again.')
    await sleep(ASK_AGAIN_MS)
  }
  try {
    return await work(async () => {
      if ((await redis.get(key)) !== holder) throw new Error('This took too long and nothing was changed; try again.')
    })
  } finally {
    // Unless it has expired and belongs to another holder by now.
    await deleteIf(redis, key, holder)
  }
}

/** A name that no other holder has. */
export const newHolder = (): string => randomBytes(12).toString('base64url')
