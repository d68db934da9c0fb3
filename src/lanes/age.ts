// How old the backlog of a lane is: the first thing to look at when messages come late.

import { acceptedAtMs, parseMessageId } from '../messages/message-id.ts'
import { laneBacklogKeys } from '../redis/bullmq-layout.ts'
import type { Redis } from '../redis/connect.ts'

/**
 * When the message was accepted (epoch ms) that has waited longest for its turn; undefined when none waits. Both lists
 * are in the order in which messages came, but for those put back, so their heads tell it. Delayed ones do not count:
 * their turn has not come.
 */
export async function oldestWaitingAt(redis: Redis, lane: number): Promise<number | undefined> {
  const { waiting, prioritized } = laneBacklogKeys(lane)
  const [head, [firstOfCampaigns]] = await Promise.all([redis.lindex(waiting, -1), redis.zrange(prioritized, '0', '0')])
  const ids = [head ?? '', firstOfCampaigns ?? ''].map((name) => parseMessageId(name)).filter((id) => id !== undefined)
  return ids.length === 0 ? undefined : Math.min(...ids.map(({ ulid }) => acceptedAtMs(ulid)))
}
