// How long a lane waits while its provider keeps refusing or cannot be reached, and when answers without proof are an outage.
// Counts failures in a row per lane in this process. Each further failure and the recovery are logged, because a lane that
// waits looks like one that has no work.

import { laneBackoffMs } from '../../kernel/backoff.ts'
import type { Log } from '../../kernel/log.ts'
import { masked } from '../../kernel/masked.ts'
import type { Problem } from '../../model/messages/outcome.ts'

/**
 * This many attempts in a row without proof are an outage. Without this rule a lane of 80/s would turn every message of ten
 * minutes of HTTP 500 into `unknown`; with it, only the few that probe whether the provider is back. A provider that
 * fails one message in twelve at random does it five times in a row once in 250,000 messages, and costs a second then.
 */
const OUTAGE_AFTER = 5
/** The throttling of a lane is logged at most this often. */
const THROTTLED_LOG_MS = 60_000

export type LaneBackoff = ReturnType<typeof createLaneBackoff>

/** The backoff of all lanes of this process. Waits are in ms; the lane is held by its cooldown in Redis, not here. */
export function createLaneBackoff(log: Log) {
  const failures = new Map<number, { inARow: number; countedAt: number }>()
  const unprovenInARow = new Map<number, number>()
  /** Until when the throttling of a lane is not logged again. */
  const suppressedUntil = new Map<number, number>()

  function waitMs(lane: number, outcome: { laneMs: number; backoff: boolean; problem: Problem }): number {
    const { code } = outcome.problem
    const sentence = masked(outcome.problem.sentence)
    if (!outcome.backoff) {
      logThrottled(lane, outcome.laneMs, { code, sentence })
      return outcome.laneMs
    }
    const now = performance.now()
    const known = failures.get(lane)
    const wait = laneBackoffMs(outcome.laneMs, known?.inARow ?? 0)
    if (known && now - known.countedAt <= wait) return wait
    const inARow = (known?.inARow ?? 0) + 1
    failures.set(lane, { inARow, countedAt: now })
    log.warn({ lane, code, sentence, failures: inARow, wait_ms: wait }, 'lane.cooldown')
    return wait
  }

  /** Logs a wait that the provider asked for. A storm of refusals brings many a second. */
  function logThrottled(lane: number, waitMs: number, problem: Problem): void {
    const now = performance.now()
    if (now < (suppressedUntil.get(lane) ?? 0)) return
    suppressedUntil.set(lane, now + Math.max(waitMs, THROTTLED_LOG_MS))
    log.info({ lane, ...problem, wait_ms: waitMs }, 'lane.throttled')
  }

  return {
    /**
     * The wait after one more failure. Failures that end within the wait they caused are of the same burst of requests
     * in flight and count once.
     */
    waitMs,
    /** Counts one more attempt without proof; returns whether they are an outage by now. */
    isOutage(lane: number): boolean {
      const inARow = (unprovenInARow.get(lane) ?? 0) + 1
      unprovenInARow.set(lane, inARow)
      return inARow >= OUTAGE_AFTER
    },
    /** The provider has answered properly. */
    over(lane: number): void {
      unprovenInARow.delete(lane)
      if (failures.delete(lane)) log.info({ lane }, 'lane.recovered')
    },
  }
}
