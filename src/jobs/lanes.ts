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
 * Windows in a second. A sliding second meets one more than whole ones fit into it, 8 here, so that it holds at most 8/7.3
 * of the rate: 88 at 80/s.
 */
const WINDOWS_A_SECOND = 7.3

/**
 * A rate as BullMQ's global limit: windows of about 137 ms, 11 messages in each for 80/s. BullMQ begins a window 0.5 to
 * 1.3 ms late, so that shorter ones lose rate: 8 in 100 ms gave a mean of 78.99/s over a minute on three processes, and
 * windows of a second let 159 through in one. The window is also the longest wait of a transactional message.
 */
export function paceOf(ratePerSecond: number): { max: number; durationMs: number } {
  const max = Math.max(1, Math.ceil(ratePerSecond / WINDOWS_A_SECOND))
  return { max, durationMs: Math.max(1, Math.floor((max / ratePerSecond) * 1_000)) }
}
