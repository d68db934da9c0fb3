/** Time between two asks: a tenth of what was waited so far, so that asking costs a long wait little. */
const LEAST_PAUSE_MS = 10
const MOST_PAUSE_MS = 100

/**
 * Asks again and again until the answer is there; fails with the last thing seen when it does not come in time. The limit
 * only ends what hangs, on a machine however busy: a test that promises speed sets its own.
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
    if (waited > limitMs) throw new Error(`not within ${limitMs} ms: ${what} (last: ${String(last)})`)
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
