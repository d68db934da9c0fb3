// How long a lane waits while its provider keeps refusing or cannot be reached: this process's count of failures in a
// row, per lane. Each one more is said in the log, and their end: a lane that waits looks like one that has no work.
import type { Log } from '../log.ts'
import { laneBackoffMs } from '../messages/backoff.ts'

export type LaneTrouble = ReturnType<typeof createLaneTrouble>

export function createLaneTrouble(log: Log) {
  const failures = new Map<number, { inARow: number; countedAt: number }>()
  return {
    /**
     * The wait after one more failure. Failures that end within the wait they caused are of the same burst of requests
     * in flight and count once.
     */
    waitMs(lane: number, outcome: { laneMs: number; backoff: boolean; problem: { code: string } }): number {
      if (!outcome.backoff) return outcome.laneMs
      const now = performance.now()
      const known = failures.get(lane)
      const wait = laneBackoffMs(outcome.laneMs, known?.inARow ?? 0)
      if (known && now - known.countedAt <= wait) return wait
      const inARow = (known?.inARow ?? 0) + 1
      failures.set(lane, { inARow, countedAt: now })
      log.warn({ lane, code: outcome.problem.code, failures: inARow, wait_ms: wait }, 'lane.waits')
      return wait
    },
    /** The provider answered in order. */
    over(lane: number): void {
      if (failures.delete(lane)) log.info({ lane }, 'lane.goes_on')
    },
  }
}
