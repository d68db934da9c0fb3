// Closing a lane for good, as its sender is removed. Finding it empty and closing it are one step, and every step that
// puts something on a lane looks whether it is closed: a producer, however long it stalls, either adds before, and the
// lane is not closed, or is told that it is.

import type { Redis } from '../../redis/connect.ts'
import { activeCampaignsKey, inDoubtKey, laneClosedKey, queuedAgainKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { laneBacklogKeys, laneChunkKeys } from '../layout.ts'

const closeScript = defineScript(import.meta.url, 'lane-close')

/** The sender of the lane was removed, so that nothing is put on it. */
export class LaneClosedError extends Error {
  override name = 'LaneClosedError'

  constructor(lane: number) {
    super(`the sender of lane ${lane} was removed`)
  }
}

/**
 * Closes a lane on which nothing waits, is worked on or is in doubt, and which has no campaign that a worker looks
 * after; returns false when there is any of it. The lane stays closed until its sender is added again, or nothing of it
 * is kept any more (forget-lane.ts).
 */
export async function closeLane(redis: Redis, lane: number): Promise<boolean> {
  const keys = {
    ...laneBacklogKeys(lane),
    ...laneChunkKeys(lane),
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
