// Ticks at which a process begins what may wait for a moment, for all its lanes in one go: what they write to Redis then leaves in one
// write, and Redis syncs its file once for all of it. A sync costs Redis as much as five messages.
import { Bell } from './bell.ts'

/** Between two of them (ms). More of them would hold up what is to leave in between: all lanes work at once. */
const TICK_MS = 50

/** The last shared tick before `at`, where it is still to come; `at` itself where it is not. Both on the clock of `performance.now()`. */
export function sharedTickBefore(at: number, now = performance.now()): number {
  const tick = Math.floor(at / TICK_MS) * TICK_MS
  return tick > now ? tick : at
}

/** What begins at the same moment has one timer: two timers for one moment fire up to a millisecond apart, and write apart. */
export class SharedMoments {
  private readonly waiting = new Map<number, Set<Bell>>()

  /**
   * Rings at that moment (`performance.now()`), after the bells that were set for it before. Returns what takes the bell back, and says
   * whether it had not rung yet.
   */
  at(moment: number, bell: Bell): () => boolean {
    const all = this.waiting.get(moment) ?? this.open(moment)
    all.add(bell)
    return () => all.delete(bell)
  }

  /** Resolves at that moment, or as soon as it is stopped. */
  async until(moment: number, stopped: AbortSignal): Promise<void> {
    if (stopped.aborted) return
    const bell = new Bell()
    const takeBack = this.at(moment, bell)
    const over = (): void => void bell.ring()
    stopped.addEventListener('abort', over)
    await bell.rung()
    stopped.removeEventListener('abort', over)
    takeBack()
  }

  private open(moment: number): Set<Bell> {
    const all = new Set<Bell>()
    this.waiting.set(moment, all)
    const begin = (): void => {
      this.waiting.delete(moment)
      for (const each of all) {
        all.delete(each)
        void each.ring()
      }
    }
    setTimeout(begin, Math.ceil(Math.max(0, moment - performance.now())))
    return all
  }
}
