// The circuit breaker: when a campaign must pause without being asked. What hits one recipient in three will hit the rest.
// What only has to hit a few is in fan-out/refusals.ts.

/**
 * Messages that have come to an end so far, and how many of them badly: failed, or unproven because of what the provider
 * answered or did not. Those that failed for reasons of their recipient, or are unproven because a worker died, count
 * as neither.
 */
export interface Ends {
  finished: number
  failed: number
}

/** The share of failures is taken over at least so many of the latest messages. */
const OVER = 100
const LIMIT = 0.3
/** Points kept; older ones are thinned out by leaving every second one. */
const POINTS = 512

/** Watches one campaign from now on; what failed before a person resumed it no longer counts. */
export function createFailureBreaker() {
  let points: Ends[] = []
  return {
    /** Takes note of the figures; answers why the campaign must pause, if it must. */
    check(now: Ends): string | undefined {
      const from = points.findLast((point) => now.finished - point.finished >= OVER)
      const last = points.at(-1)
      // However long nothing ends, the points of before are not thinned out by it.
      if (last?.finished !== now.finished || last.failed !== now.failed) points.push(now)
      if (points.length > POINTS) points = points.filter((_point, i) => i % 2 === 1)
      if (from === undefined) return undefined
      const finished = now.finished - from.finished
      const failed = now.failed - from.failed
      if (failed <= LIMIT * finished) return undefined
      return `${failed} of the last ${finished} messages failed or are unproven, more than ${LIMIT * 100} %.`
    },
  }
}
