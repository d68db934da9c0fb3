// Writing down what only this process knows. While Redis refuses writes, as with MISCONF after a failed save, BUSY, NOPERM or
// READONLY, a worker holds answers of the provider that nothing else can bring back. They are written again and again until
// Redis takes them: dropping them would leave people in doubt, or send them a message twice.
//
// If the process dies meanwhile, the record says `sending` under its attempt, and the sweep finds it, as after any death.
import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'

/** What many messages wait for is tried again in the same moment, so that it leaves in the same steps. */
const AGAIN_MS = 250
/** Whoever mends Redis has done so by then; the sweep decides afterwards. Until then the messages keep their room. */
const MOST_MS = 10 * 60_000

/**
 * Takes a step until Redis takes it. It must do no harm twice. Rejects with what is no trouble of Redis, after ten minutes, or
 * when the connection was closed for good, as by a worker that stops.
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
