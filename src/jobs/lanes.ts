// Names of lanes. A lane is the BullMQ queue of one sender; sender, lane and queue share one number.

/** The queue of a lane. */
export const laneQueue = (lane: number): string => `lane-${lane}`

/** The lane of a queue, or undefined for any other queue. */
export function laneOfQueue(queue: string): number | undefined {
  const match = /^lane-([1-9]\d*)$/.exec(queue)
  return match ? Number(match[1]) : undefined
}

/**
 * BullMQ priority of campaign messages; transactional ones have none and always go first. A prioritized job also
 * costs O(log n) to remove, a plain one O(n).
 */
export const CAMPAIGN_PRIORITY = 1

/**
 * BullMQ begins a window 0.5 to 1.3 ms after the one before has ended. A fast lane keeps that as a reserve: its messages
 * take a part of the window to begin, so that more of them slide into one second (1,122 of 1,000 with it, 1,090 without).
 */
const LATE_MS = 1
const FAST_A_SECOND = 500

/**
 * A rate as BullMQ's global limit: windows of about 100 ms, less what BullMQ is late with each: 8 in 99 ms for 80/s; 8 in
 * 100 gave a mean of 78.99/s over a minute on three processes. A sliding second meets at most 11 windows: 88 at 80/s.
 * Windows of 112 ms let 90 through in one, of a second 159; shorter ones lose rate. The window is also the longest wait
 * of a transactional message.
 */
export function paceOf(ratePerSecond: number): { max: number; durationMs: number } {
  const max = Math.max(1, Math.ceil(ratePerSecond / 10))
  const lateMs = ratePerSecond < FAST_A_SECOND ? LATE_MS : 0
  return { max, durationMs: Math.max(1, Math.floor((max / ratePerSecond) * 1_000) - lateMs) }
}
