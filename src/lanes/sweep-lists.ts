// The sweep's lists of messages of a lane, and when its next status poll is due.
import type { MessageId } from '../kernel/message-id.ts'
import type { Redis } from '../redis/connect.ts'
import { inDoubtKey, messageKey, pollKey, queuedAgainKey, rootKeys } from '../redis/keys.ts'
import { defineMessageScript } from './messages/message-script.ts'

const fileScript = defineMessageScript(import.meta.url, 'message-file')

/** How many senders there are, each with its lane. */
export const countLanes = (redis: Redis): Promise<number> => redis.hlen(rootKeys.lanes)

/** Which list of the sweep: attempts in doubt, or messages queued again whose job may be gone. */
export type SweepList = 'in_doubt' | 'queued_again'

const listKey = (list: SweepList, lane: number): string =>
  list === 'in_doubt' ? inDoubtKey(lane) : queuedAgainKey(lane)

/** ULIDs of messages that are due for the sweep, the oldest first. */
export async function overdueMessages(
  redis: Redis,
  list: SweepList,
  lane: number,
  nowMs: number,
  most: number,
): Promise<string[]> {
  return redis.zrangebyscore(listKey(list, lane), '-inf', nowMs, 'LIMIT', 0, most)
}

/** How many messages of the lane are on its lists: in doubt, and queued again. */
export async function countOnSweepLists(redis: Redis, lane: number): Promise<{ inDoubt: number; queuedAgain: number }> {
  const [inDoubt, queuedAgain] = await Promise.all([redis.zcard(inDoubtKey(lane)), redis.zcard(queuedAgainKey(lane))])
  return { inDoubt, queuedAgain }
}

/** Sets when messages on the list are due (epoch ms), unless they left it meanwhile. */
export async function rescheduleSweep(
  redis: Redis,
  list: SweepList,
  lane: number,
  ulids: readonly string[],
  atMs: number,
): Promise<void> {
  if (ulids.length > 0) await redis.zadd(listKey(list, lane), 'XX', ...ulids.flatMap((ulid) => [atMs, ulid]))
}

/** Puts a message on the list of its state, in one step with reading it; on none when nothing is left to do. */
export async function listForSweep(redis: Redis, { lane, ulid }: MessageId): Promise<void> {
  const keys = { record: messageKey(lane, ulid), inDoubt: inDoubtKey(lane), queuedAgain: queuedAgainKey(lane) }
  await fileScript(redis, keys, { ulid })
}

/** Takes a message off both lists: its sender is gone, and with it the policy that would decide. */
export async function removeFromSweepLists(redis: Redis, { lane, ulid }: MessageId): Promise<void> {
  await Promise.all([redis.zrem(inDoubtKey(lane), ulid), redis.zrem(queuedAgainKey(lane), ulid)])
}

/** When the earliest status poll of a lane is due (epoch ms). */
export async function nextPollAt(redis: Redis, lane: number): Promise<number | undefined> {
  const [, score] = await redis.zrange(pollKey(lane), 0, '0', 'WITHSCORES')
  return score === undefined ? undefined : Number(score)
}
