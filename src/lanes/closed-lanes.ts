// Closes a lane for good, once its sender is removed.

import type { Redis } from '../redis/connect.ts'
import { activeCampaignsKey, inDoubtKey, laneClosedKey, placesKey, queuedAgainKey } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { laneBacklogKeys } from './bullmq/layout.ts'

const closeScript = defineScript(import.meta.url, 'lane-close')

/** The sender of the lane was removed, so nothing can be added to it. */
export class LaneClosedError extends Error {
  override name = 'LaneClosedError'

  constructor(lane: number) {
    super(`the sender of lane ${lane} was removed`)
  }
}

/**
 * Closes a lane without waiting, active or doubtful messages and without active campaigns; returns false when it has any of them. The
 * lane stays closed until its sender is added again, or until nothing of it is kept (forgetLane in lanes/control.ts).
 */
export async function closeLane(redis: Redis, lane: number): Promise<boolean> {
  const keys = {
    ...laneBacklogKeys(lane),
    places: placesKey(lane),
    inDoubt: inDoubtKey(lane),
    queuedAgain: queuedAgainKey(lane),
    activeCampaigns: activeCampaignsKey(lane),
    closed: laneClosedKey(lane),
  }
  return (await closeScript(redis, keys)) === 1
}

/** Whether the lane's sender was removed. */
export const isLaneClosed = async (redis: Redis, lane: number): Promise<boolean> =>
  (await redis.exists(laneClosedKey(lane))) === 1
