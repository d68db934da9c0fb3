// Counts the recipients of a campaign who have answered. A received message is queued here; a worker finds the campaign that it answers
// (campaigns/replies.processor.ts) and sets a bit for its recipient, so that each counts once. A process that dies in between leaves the
// message queued; counting it again changes nothing.
import { z } from 'zod'
import { DAY_MS } from '../../kernel/time-units.ts'
import type { CampaignId } from '../../model/campaigns/campaign-id.ts'
import { ASIDE } from '../../model/campaigns/counts.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignCountsKey, campaignKey, campaignRepliedKey, repliesKey, rootKeys } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'

/** Received messages of a lane that wait here; further ones are not counted. */
const MOST_WAITING = 100_000
/** Messages that have waited this long, as without a worker, are not counted any more. */
const KEEP_MS = 3 * DAY_MS

const addScript = defineScript(import.meta.url, 'reply-add')
const countScript = defineScript(import.meta.url, 'campaign-replied', { names: { ASIDE } })

/** A received message that may answer a campaign. */
export interface Reply {
  /** The digest of its id, see `inboundDigest`. */
  message: string
  /** Epoch ms. */
  receivedAt: number
}

/** Queues a received message. Idempotent. */
export async function addReply(redis: Redis, lane: number, { message, receivedAt }: Reply): Promise<void> {
  // First: a lane without replies is taken off the list when it is read.
  await redis.sadd(rootKeys.replyLanes, lane)
  await addScript(redis, { replies: repliesKey(lane) }, { message, receivedAt, most: MOST_WAITING, keepMs: KEEP_MS })
}

/** Lanes with replies that wait. */
export const replyLanes = async (redis: Redis): Promise<number[]> =>
  (await redis.smembers(rootKeys.replyLanes)).map(Number)

/** Up to `most` of a lane's replies, those that came first. */
export async function waitingReplies(redis: Redis, lane: number, most: number): Promise<Reply[]> {
  const flat = await redis.zrange(repliesKey(lane), '0', String(most - 1), 'WITHSCORES')
  return flat.flatMap((message, i) => (i % 2 === 0 ? [{ message, receivedAt: Number(flat[i + 1]) }] : []))
}

/** Removes handled replies, and the lane from the list when none is left; one that comes meanwhile puts it back. */
export async function settleReplies(redis: Redis, lane: number, replies: readonly Reply[]): Promise<void> {
  if (replies.length > 0) await redis.zrem(repliesKey(lane), ...replies.map(({ message }) => message))
  if ((await redis.zcard(repliesKey(lane))) > 0) return
  await redis.srem(rootKeys.replyLanes, lane)
  if ((await redis.zcard(repliesKey(lane))) > 0) await redis.sadd(rootKeys.replyLanes, lane)
}

/** Marks the recipient at a place of the campaign's list as having answered; each counts once. */
export async function countReplied(redis: Redis, { lane, number }: CampaignId, place: number): Promise<boolean> {
  const keys = {
    campaign: campaignKey(lane, number),
    counts: campaignCountsKey(lane, number),
    replied: campaignRepliedKey(lane, number),
  }
  return z.number().parse(await countScript(redis, keys, { place })) === 1
}

/** Which of `count` recipients from place `from` on have answered. */
export async function readReplied(
  redis: Redis,
  { lane, number }: CampaignId,
  from: number,
  count: number,
): Promise<boolean[]> {
  const first = from >> 3
  const bytes = await redis.getrangeBuffer(campaignRepliedKey(lane, number), first, (from + count - 1) >> 3)
  return Array.from({ length: count }, (_, i) => {
    const place = from + i
    return (((bytes[(place >> 3) - first] ?? 0) >> (7 - (place % 8))) & 1) === 1
  })
}
