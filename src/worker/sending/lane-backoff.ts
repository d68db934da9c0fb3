// How long a lane waits while its provider keeps refusing or cannot be reached, and when answers without proof are an
// outage: this process's counts of failures in a row, per lane. Each further failure is logged, and so is the end of
// them: a lane that waits looks like one that has no work.
import type { Log } from '../../log.ts'
import { laneBackoffMs } from '../../messages/backoff.ts'
import { masked } from '../../messages/masked.ts'
import type { Problem } from '../../messages/outcome.ts'

/**
 * This many attempts in a row without proof are an outage. Otherwise a lane of 80/s would turn every message of ten
 * minutes of HTTP 500 into `unknown`; so it is only the few that ask whether the provider is back. A provider that
 * fails one message in twelve at random does it five times in a row once in 250,000 messages, and costs a second then.
 */
const OUTAGE_AFTER = 5
/** A lane that waits as its provider asks is in the log at most this often. */
const OBEYING_SAID_MS = 60_000

export type LaneBackoff = ReturnType<typeof createLaneBackoff>

/** The backoff of all lanes of this process. Waits are in ms; the lane is held by its cooldown in Redis, not here. */
export function createLaneBackoff(log: Log) {
  const failures = new Map<number, { inARow: number; countedAt: number }>()
  const unproven = new Map<number, number>()
  /** Until when a lane that obeys its provider is not logged again. */
  const quiet = new Map<number, number>()

  function waitMs(lane: number, outcome: { laneMs: number; backoff: boolean; problem: Problem }): number {
    const { code } = outcome.problem
    const sentence = masked(outcome.problem.sentence)
    if (!outcome.backoff) {
      obeys(lane, outcome.laneMs, { code, sentence })
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

  /** Logged once for a wait and at most once a minute: a storm of refusals brings many a second. */
  function obeys(lane: number, waitMs: number, problem: Problem): void {
    const now = performance.now()
    if (now < (quiet.get(lane) ?? 0)) return
    quiet.set(lane, now + Math.max(waitMs, OBEYING_SAID_MS))
    log.info({ lane, ...problem, wait_ms: waitMs }, 'lane.throttled')
  }

  return {
    /**
     * The wait after one more failure. Failures that end within the wait they caused are of the same burst of requests
     * in flight and count once.
     */
    waitMs,
    /** Counts one more attempt without proof; whether they are an outage by now. */
    isOutage(lane: number): boolean {
      const inARow = (unproven.get(lane) ?? 0) + 1
      unproven.set(lane, inARow)
      return inARow >= OUTAGE_AFTER
    },
    /** The provider has answered as it should. */
    over(lane: number): void {
      unproven.delete(lane)
      if (failures.delete(lane)) log.info({ lane }, 'lane.recovered')
    },
  }
}
