// The slower circuit breaker: whether a campaign must pause because too large a share of its latest messages failed. Pure.

/**
 * Messages that have ended so far, and how many of them badly: failed, or unproven because of the provider's answer or silence. Those
 * that failed because of their recipient, or are unproven because a worker died or was late, are not counted.
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
    /** Adds the figures; returns the reason if the campaign must pause. */
    check(now: Ends): string | undefined {
      const from = points.findLast((point) => now.finished - point.finished >= OVER)
      const last = points.at(-1)
      // Rounds in which nothing ended must not thin out the earlier points.
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
