// Ticks at which a process begins what may wait for a moment, for all its lanes in one go: what they write to Redis then leaves in one
// write, and Redis syncs its file once for all of it. A sync costs Redis as much as five messages.

/** Between two of them (ms). More of them would hold up what is to leave in between: all lanes work at once. */
const TICK_MS = 50

/** The last shared tick before `at`, where it is still to come; `at` itself where it is not. Both on the clock of `performance.now()`. */
export function sharedTickBefore(at: number, now = performance.now()): number {
  const tick = Math.floor(at / TICK_MS) * TICK_MS
  return tick > now ? tick : at
}

/** What begins at the same moment has one timer: two timers for one moment fire up to a millisecond apart, and write apart. */
export class SharedMoments {
  private readonly waiting = new Map<number, Set<() => void>>()

  /** Calls `begin`, which must not throw, at that moment (`performance.now()`), after those that asked before. Returns what cancels it. */
  at(moment: number, begin: () => void): () => void {
    const all = this.waiting.get(moment) ?? this.open(moment)
    all.add(begin)
    return () => void all.delete(begin)
  }

  /** Resolves at that moment, or as soon as it is stopped. */
  until(moment: number, stopped: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (stopped.aborted) return resolve()
      const over = (): void => {
        cancel()
        stopped.removeEventListener('abort', over)
        resolve()
      }
      const cancel = this.at(moment, over)
      stopped.addEventListener('abort', over)
    })
  }

  private open(moment: number): Set<() => void> {
    const all = new Set<() => void>()
    this.waiting.set(moment, all)
    const begin = (): void => {
      this.waiting.delete(moment)
      for (const each of all) each()
    }
    setTimeout(begin, Math.ceil(Math.max(0, moment - performance.now())))
    return all
  }
}
