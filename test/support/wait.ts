// Waits in tests: for an answer, with a limit that a slow machine meets too.
import { isBusy } from './machine.ts'

/** Time between two asks: a tenth of what was waited so far, so that asking costs a long wait little. */
const LEAST_PAUSE_MS = 10
const MOST_PAUSE_MS = 250

/** A limit only ends what hangs. It is no shorter than this, and so many times as long while the machine is busy. */
const LEAST_LIMIT_MS = 300_000
const WHILE_BUSY = 2

/**
 * Asks again and again until the answer is there; fails with the last thing seen when it does not come in time. It promises
 * no speed: a test that does so compares what it measures with `slowness()`.
 */
export async function eventually<T>(
  ask: () => Promise<T | undefined | false>,
  what: string,
  limitMs = 60_000,
): Promise<T> {
  const begun = performance.now()
  let last: unknown
  for (;;) {
    try {
      const answer = await ask()
      if (answer !== undefined && answer !== false) return answer
      last = answer
    } catch (error) {
      last = error
    }
    const waited = performance.now() - begun
    const leastMs = Math.max(limitMs, LEAST_LIMIT_MS)
    if (waited > leastMs && (waited > leastMs * WHILE_BUSY || !isBusy()))
      throw new Error(`not within ${Math.round(waited)} ms: ${what} (last: ${String(last)})`)
    const pause = Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, waited / 10))
    await new Promise<void>((resolve) => setTimeout(resolve, pause))
  }
}

/** Something that others wait at until it is opened, once. */
export function gate(): { open(): void; opened: Promise<void> } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open: () => open(), opened }
}
