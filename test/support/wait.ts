/**
 * Asks again and again until the answer is there; fails with the last thing seen when it does not come in time. The limit
 * only ends what hangs, on a machine however busy: a test that promises speed sets its own.
 */
export async function eventually<T>(
  ask: () => Promise<T | undefined | false>,
  what: string,
  limitMs = 60_000,
): Promise<T> {
  const end = performance.now() + limitMs
  let last: unknown
  for (;;) {
    try {
      const answer = await ask()
      if (answer !== undefined && answer !== false) return answer
      last = answer
    } catch (error) {
      last = error
    }
    if (performance.now() > end) throw new Error(`not within ${limitMs} ms: ${what} (last: ${String(last)})`)
    await new Promise<void>((resolve) => setTimeout(resolve, 25))
  }
}
