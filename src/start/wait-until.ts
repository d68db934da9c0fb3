// Waiting for something that gives no event.
import { setTimeout as wait } from 'node:timers/promises'

const LOOK_AGAIN_MS = 50

/** Waits until `done` holds; false when it does not within `limitMs`. */
export async function waitUntil(done: () => boolean | Promise<boolean>, limitMs: number): Promise<boolean> {
  const end = Date.now() + limitMs
  while (!(await done())) {
    if (Date.now() >= end) return false
    await wait(LOOK_AGAIN_MS)
  }
  return true
}
