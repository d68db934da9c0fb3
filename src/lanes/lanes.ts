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
