// A lock for what people do at terminals and must not do at the same time. No message ever waits for one.
import { randomBytes } from 'node:crypto'
import type { Redis } from './connect.ts'
import { deleteIf } from './delete-if.ts'

/** A holder that died frees the lock after this. */
const HELD_FOR_MS = 10_000
/** How long somebody who comes second waits for it. */
const WAIT_MS = 15_000
const ASK_AGAIN_MS = 50

/**
 * Does the work while nobody else holds the lock. `assertHeld` throws once it may be lost, as after this process was
 * frozen: call it right before what cannot be taken back. Rejects when the lock does not come free within 15 s.
 */
export async function withLock<T>(
  redis: Redis,
  key: string,
  work: (assertHeld: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const holder = randomBytes(12).toString('base64url')
  const giveUpAt = performance.now() + WAIT_MS
  while ((await redis.set(key, holder, 'PX', HELD_FOR_MS, 'NX')) === null) {
    if (performance.now() > giveUpAt) throw new Error('Another command is doing the same at this moment; try again.')
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS))
  }
  try {
    return await work(async () => {
      if ((await redis.get(key)) !== holder) throw new Error('This took too long and nothing was changed; try again.')
    })
  } finally {
    // Unless it has run out and belongs to somebody else by now.
    await deleteIf(redis, key, holder)
  }
}
