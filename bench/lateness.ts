// How late messages arrive: how much longer than its pace allows a number's message came after the one before it. A
// number that sends evenly has none; one that sends a second's worth at once and then pauses has almost a second at p99.
import { percentile } from './statistics.ts'

/** Of numbers with a pace, messages a second each; 0: no limit, so that nothing can be late. */
export function createLateness(pace: number) {
  const lastMs = new Map<string, number>()
  let lateMs: number[] = []
  return {
    /** A message of the number arrived. */
    arrived(number: string, nowMs: number): void {
      if (pace === 0) return
      const before = lastMs.get(number)
      lastMs.set(number, nowMs)
      if (before !== undefined) lateMs.push(Math.max(0, nowMs - before - 1_000 / pace))
    },
    /** Forgets what was late so far. */
    restart(): void {
      lateMs = []
    },
    report: () => ({ p50: percentile(lateMs, 0.5), p99: percentile(lateMs, 0.99) }),
  }
}
