// Waiting for something that gives no event of its own.
import { setTimeout as sleep } from 'node:timers/promises'

export const pause = (ms: number): Promise<void> => sleep(ms)

/** Asks until the answer is true; false when it is not within `limitMs`. */
export async function eventually(
  ask: () => Promise<boolean> | boolean,
  limitMs: number,
  everyMs = 100,
): Promise<boolean> {
  const end = performance.now() + limitMs
  for (;;) {
    if (await ask()) return true
    if (performance.now() > end) return false
    await sleep(everyMs)
  }
}
