// How long a lane waits while its provider keeps refusing or cannot be reached: this process's count of failures in a
// row, per lane.
import { laneBackoffMs } from '../messages/backoff.ts'

export type LaneTrouble = ReturnType<typeof createLaneTrouble>

export function createLaneTrouble() {
  const failures = new Map<number, { inARow: number; countedAt: number }>()
  return {
    /**
     * The wait after one more failure. Failures that end within the wait they caused are of the same burst of requests
     * in flight and count once.
     */
    waitMs(lane: number, outcome: { laneMs: number; backoff: boolean }): number {
      if (!outcome.backoff) return outcome.laneMs
      const now = performance.now()
      const known = failures.get(lane)
      const wait = laneBackoffMs(outcome.laneMs, known?.inARow ?? 0)
      if (!known) failures.set(lane, { inARow: 1, countedAt: now })
      else if (now - known.countedAt > wait) failures.set(lane, { inARow: known.inARow + 1, countedAt: now })
      return wait
    },
    /** The provider answered in order. */
    over(lane: number): void {
      failures.delete(lane)
    },
  }
}
