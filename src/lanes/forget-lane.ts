// What is left of a removed sender's lane once nothing of it is kept any more: lists of messages that have ended, whose
// entries nobody takes off, and what BullMQ keeps of the queues. Records, history and cooldowns end by themselves.
import { dropKeptLane, type RemovedLane } from '../accounts/store/kept-lanes.ts'
import type { LaneQueues } from '../queue/lane/queues.ts'
import type { Redis } from '../redis/connect.ts'
import {
  activeCampaignsKey,
  inDoubtKey,
  laneClosedKey,
  messageIndexKey,
  outboxKey,
  parkedCampaignsKey,
  pollingKey,
  pollKey,
  queuedAgainKey,
  requeueableKey,
  senderBlockedKey,
  senderKey,
  throttledKey,
} from '../redis/keys.ts'

/**
 * Deletes the sender and all that has no end of its own. Doing it again changes nothing, and dying in between leaves a
 * lane that is found again: it leaves its list last.
 */
export async function forgetLane(redis: Redis, queues: LaneQueues, removed: RemovedLane): Promise<void> {
  const { lane } = removed
  await queues.remove(lane)
  const index = messageIndexKey(lane)
  await redis.del(
    ...[index, `${index}:open`, outboxKey(lane), laneClosedKey(lane), senderBlockedKey(lane), throttledKey(lane)],
    ...[inDoubtKey(lane), queuedAgainKey(lane), requeueableKey(lane), pollKey(lane), pollingKey(lane)],
    ...[activeCampaignsKey(lane), parkedCampaignsKey(lane)],
  )
  await redis.del(senderKey(lane))
  await dropKeptLane(redis, removed)
}
