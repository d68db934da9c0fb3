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
 * A rate as BullMQ's global limit: windows of about a ninth of a second, 9 in 112 ms for 80/s. BullMQ begins a window
 * 0.5 to 1.3 ms late, which the missing half millisecond makes up for in part: 8 in 100 ms gave a mean of 78.99/s over a
 * minute on three processes. Windows of a second let 159 through in one, shorter ones lose rate. The window is also the
 * longest wait of a transactional message.
 */
export function paceOf(ratePerSecond: number): { max: number; durationMs: number } {
  const max = Math.max(1, Math.ceil(ratePerSecond / 9))
  return { max, durationMs: Math.max(1, Math.floor((max / ratePerSecond) * 1_000)) }
}
