// What is kept of single messages and of the lane that they are on: their records, the lists that the sweep works
// through, and what holds them back; and of the campaigns that they are of.

import type { MessageId } from '../../../src/kernel/message-id.ts'
import type { CampaignId } from '../../../src/model/campaigns/campaign-id.ts'
import { redisNowMs } from '../../../src/redis/clock.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import {
  activeCampaignsKey,
  campaignCountsKey,
  campaignKey,
  campaignsOfAccountKey,
  idempotencyKey,
  inboundDigest,
  inboundKey,
  inDoubtKey,
  indexSegmentKeys,
  laneClearedByKey,
  laneCooldownKey,
  lanePrefix,
  laneProbeKey,
  laneSlotsKey,
  mediaUploadKeys,
  messageIndexKey,
  messageKey,
  messageWaitKey,
  nextPollKey,
  outboxKey,
  parkedCampaignsKey,
  pollKey,
  queuedAgainKey,
  recipientCooldownKey,
  recipientStatesKey,
  replyWindowKey,
  requeueableKey,
  rootKeys,
  throttledKey,
} from '../../../src/redis/keys.ts'
import { entriesAt, namesAt, recordAt, timesAt, valueAt } from './handles.ts'

/** The record of a message, its state among it. */
export const messageRecord = (redis: Redis, { lane, ulid }: MessageId) => recordAt(redis, messageKey(lane, ulid))

/** Writes the record of a message in this state, by its letter, with these fields and what is in them. */
export const addRecord = (
  redis: Redis,
  { lane, ulid }: MessageId,
  letter: string,
  fields: readonly (string | number)[],
) => redis.hset(messageKey(lane, ulid), 's', letter, ...fields)

/** The id of an upload, by the content and the lane that it is for. */
export const uploadOf = (redis: Redis, { lane, hash }: { lane: number; hash: string }) =>
  valueAt(redis, mediaUploadKeys(lane, hash).upload)

/** Which worker uploads a content to the number of a lane at the moment. */
export const uploadLeaseOf = (redis: Redis, { lane, hash }: { lane: number; hash: string }) =>
  valueAt(redis, mediaUploadKeys(lane, hash).lease)

/** How many uploads of a content to the number of a lane have failed lately. */
export const uploadFailuresOf = (redis: Redis, { lane, hash }: { lane: number; hash: string }) =>
  valueAt(redis, mediaUploadKeys(lane, hash).failures)

/** That an upload which has failed is not tried again yet. */
export const uploadBackoffOf = (redis: Redis, { lane, hash }: { lane: number; hash: string }) =>
  valueAt(redis, mediaUploadKeys(lane, hash).backoff)

/** What stands for a received message in the names of what is kept about it. */
export const receivedName = inboundDigest

/** Messages whose attempt is under way or unproven, by when the sweep looks at them. */
export const inDoubtOn = (redis: Redis, lane: number) => timesAt(redis, inDoubtKey(lane))

/** Messages that are queued again and not claimed since, by when the sweep makes sure of their jobs. */
export const queuedAgainOn = (redis: Redis, lane: number) => timesAt(redis, queuedAgainKey(lane))

/** Messages that may be queued again by a person, by when they ended. */
export const requeueableOn = (redis: Redis, lane: number) => timesAt(redis, requeueableKey(lane))

/** Messages whose status is asked for, by when. */
export const pollsOn = (redis: Redis, lane: number) => timesAt(redis, pollKey(lane))

/** When the next poll of the lane may leave; not there once it may. */
export const nextPollOn = (redis: Redis, lane: number) => valueAt(redis, nextPollKey(lane))

/** Everything of the lane that the sweep works through is due at once. */
export async function letAllBeDue(redis: Redis, lane: number): Promise<void> {
  for (const list of [inDoubtOn(redis, lane), queuedAgainOn(redis, lane)]) await list.move(0, ...(await list.all()))
}

/** The wait of one message before it may be claimed again. */
export const waitOf = (redis: Redis, { lane, ulid }: MessageId) => valueAt(redis, messageWaitKey(lane, ulid))

/** When the cooldown of the lane ends. */
export const cooldownOf = (redis: Redis, lane: number) => valueAt(redis, laneCooldownKey(lane))

/** How often messages of the lane were too fast for WhatsApp. */
export const throttledOn = (redis: Redis, lane: number) => valueAt(redis, throttledKey(lane))

/** That the lane may be asked with one message at a time, and why. */
export const probingOf = (redis: Redis, lane: number) => valueAt(redis, laneProbeKey(lane))

/** The cooldown of one recipient of the lane, and how it grows. */
export const recipientCooldownOf = (redis: Redis, lane: number, person: string) =>
  valueAt(redis, recipientCooldownKey(lane, person))

/** As if so much time had passed in the cooldown of a recipient. */
export async function letRecipientWait(redis: Redis, lane: number, person: string, ms: number): Promise<void> {
  const cooldown = recipientCooldownOf(redis, lane, person)
  const [end = 0, next = 0, ...others] = ((await cooldown.value()) ?? '').split(' ').map(Number)
  await cooldown.replace([end - ms, next - ms, ...others].join(' '))
}

/** Ends all cooldowns of the lane and of its recipients. */
export async function endCooldowns(redis: Redis, lane: number): Promise<void> {
  await redis.del(...(await redis.keys(`${laneCooldownKey(lane)}*`)))
}

/** Names under which the cooldowns of recipients are kept, of all lanes. */
export const recipientCooldowns = (redis: Redis) => redis.keys(`lw:{l*}:rest:*`)

/** That the person may be answered from the lane with any kind of message. */
export const replyWindowOf = (redis: Redis, lane: number, person: string) =>
  valueAt(redis, replyWindowKey(lane, person))

/** Names under which windows for replies to the person are kept, of all lanes. */
export const replyWindowsOf = (redis: Redis, person: string) => redis.keys(`lw:{l*}:window:${person}`)

/** The latest slots in which requests of the lane leave. */
export function slotsOf(redis: Redis, lane: number) {
  const key = laneSlotsKey(lane)
  return {
    /** In µs, the newest one first. */
    all: () => redis.lrange(key, 0, -1),
    livesMs: () => redis.pttl(key),
    /** None is free until then (ms). */
    takeUntil: (ms: number) => redis.lpush(key, String(ms * 1_000)),
  }
}

/** The index of the messages of a lane. */
export const messageIndexOf = (redis: Redis, lane: number) => timesAt(redis, messageIndexKey(lane))

/** One segment of that index. */
export function indexSegmentOf(redis: Redis, lane: number, segment: string) {
  const { ids, hashes } = indexSegmentKeys(lane, segment)
  return { ids: valueAt(redis, ids), hashes: valueAt(redis, hashes) }
}

/** All that the index of a lane's messages consists of. */
export async function indexPartsOf(redis: Redis, lane: number) {
  const segments = (await messageIndexOf(redis, lane).all()).map((segment) => indexSegmentOf(redis, lane, segment))
  const open = recordAt(redis, `${messageIndexKey(lane)}:open`)
  return [messageIndexOf(redis, lane), open, ...segments.flatMap(({ ids, hashes }) => [ids, hashes])]
}

/** That waiting messages of this class are being cleared from the lane. */
export const clearingOf = (redis: Redis, lane: number, of: string) => valueAt(redis, laneClearedByKey(lane, of))

/** The record of a message that was received, by WhatsApp's id. */
export const receivedRecord = (redis: Redis, account: number, providerMessageId: string) =>
  recordAt(redis, inboundKey(account, providerMessageId))

/** What is remembered of an Idempotency-Key. */
export const idempotencyOf = (redis: Redis, account: number, route: string, key: string) =>
  valueAt(redis, idempotencyKey(account, route, key))

/** All that is remembered of Idempotency-Keys, of one account or of all. */
export const allIdempotencyOf = async (redis: Redis, account: number | '*' = '*') =>
  (await redis.keys(`lw:idempotency:${account}:*`)).map((key) => valueAt(redis, key))

/** What happened on the lane, for those who want to know. */
export const outboxOf = (redis: Redis, lane: number) => entriesAt(redis, outboxKey(lane))

/** Whether this is the name of an outbox. */
export const isOutbox = (name: string): boolean => name.endsWith(':outbox')

/** What the outbox of the lane tells of a received message, which it names by what stands for its id. */
export const toldOfReceived = async (redis: Redis, lane: number, providerMessageId: string) =>
  (await outboxOf(redis, lane).all()).filter((each) => JSON.stringify(each).includes(inboundDigest(providerMessageId)))

/** Names of everything that is kept of a lane, or of what names the text. */
export const namesOnLane = async (redis: Redis, lane: number, text = ''): Promise<string[]> =>
  (await redis.keys(`${lanePrefix(lane)}*${text === '' ? '' : `${text}*`}`)).sort()

/** All of the lane that has an end has come to it. */
export async function letLaneExpire(redis: Redis, lane: number): Promise<void> {
  for (const name of await namesOnLane(redis, lane)) if ((await redis.pttl(name)) !== -1) await redis.del(name)
}

/** Redis' time, as the lane's steps see it. */
export const nowOn = (redis: Redis, lane: number): Promise<number> => redisNowMs(redis, lanePrefix(lane))

/** The record of a campaign. */
export const campaignRecord = (redis: Redis, { lane, number }: CampaignId) => recordAt(redis, campaignKey(lane, number))

/** How many of a campaign's messages are in which state, by the letter of the state. */
export const countsOf = (redis: Redis, { lane, number }: CampaignId) => recordAt(redis, campaignCountsKey(lane, number))

/** The states of a campaign's recipients, packed. */
export const marksOf = (redis: Redis, { lane, number }: CampaignId) => valueAt(redis, recipientStatesKey(lane, number))

/** Writes down the state, as a number, of the recipient at this place. */
export const markPlace = (redis: Redis, { lane, number }: CampaignId, place: number, state: number) =>
  redis.call('BITFIELD', recipientStatesKey(lane, number), 'SET', 'u4', `#${place}`, state)

/** Campaigns of an account, by when they were made. */
export const campaignsOf = (redis: Redis, account: number) => timesAt(redis, campaignsOfAccountKey(account))

/** Campaigns of the lane that a worker looks after: number and state. */
export const activeCampaignsOn = (redis: Redis, lane: number) => recordAt(redis, activeCampaignsKey(lane))

/** Campaigns of the lane that run and that nobody works on for now: number and why. */
export const parkedCampaignsOn = (redis: Redis, lane: number) => recordAt(redis, parkedCampaignsKey(lane))

/** Lanes that have campaigns that a worker looks after. */
export const campaignLanes = (redis: Redis) => namesAt(redis, rootKeys.campaignLanes)
