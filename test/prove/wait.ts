// Waiting for something that gives no event of its own.
import { setTimeout as sleep } from 'node:timers/promises'

/** Something that must happen has not happened in time: the machine is too slow to tell of a promise, or it never does. */
export class TooSlow extends Error {
  override name = 'TooSlow'
}

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
