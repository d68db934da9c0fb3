// Delays steps without reordering them. Their delays overlap, so it limits no throughput.

interface Waiting {
  dueMs: number
  step: () => void
}

/** Takes steps and runs each `delayMs()` after it was added, in the order in which they were added. */
export function createDelayLine(delayMs: () => number) {
  const waiting: Waiting[] = []
  let timer: NodeJS.Timeout | undefined

  function runDue(): void {
    timer = undefined
    for (;;) {
      const [first] = waiting
      if (first === undefined) return
      const leftMs = first.dueMs - performance.now()
      if (leftMs > 0) {
        // A timer may fire a fraction of a millisecond early.
        timer = setTimeout(runDue, Math.ceil(leftMs))
        return
      }
      waiting.shift()
      first.step()
    }
  }

  return {
    add(step: () => void): void {
      const ms = delayMs()
      if (ms === 0 && waiting.length === 0) {
        step()
        return
      }
      waiting.push({ dueMs: performance.now() + ms, step })
      timer ??= setTimeout(runDue, ms)
    },
    /** Drops what has not run. */
    stop(): void {
      clearTimeout(timer)
      timer = undefined
      waiting.length = 0
    },
  }
}
