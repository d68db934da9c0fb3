// Writes what only this process knows. While Redis refuses writes, as with MISCONF after a failed save, BUSY, NOPERM or
// READONLY, a worker holds answers of the provider that nothing else can bring back. They are written again and again until
// Redis takes them: dropping them would leave people in doubt, or send them a message twice.
//
// If the process dies meanwhile, the record says `sending` under its attempt, and the sweep finds it, as after any death.
import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'

/** All steps that wait are tried again at the same moments, so that they are batched. */
const AGAIN_MS = 250
/** Time to repair Redis. Until then the messages stay in flight; after that the sweep decides. */
const MOST_MS = 10 * 60_000

/**
 * Takes a step until Redis accepts it. The step must be idempotent. Rejects with errors that are not Redis being away, after
 * ten minutes, or when the connection was closed for good, as by a worker that stops.
 */
export async function untilWritten<T>(redis: Redis, step: () => Promise<T>): Promise<T> {
  const begunAt = performance.now()
  for (;;) {
    try {
      return await step()
    } catch (error) {
      const now = performance.now()
      if (!isRedisAway(error) || redis.status === 'end' || now - begunAt > MOST_MS) throw error
      await pause(AGAIN_MS - (now % AGAIN_MS))
    }
  }
}
