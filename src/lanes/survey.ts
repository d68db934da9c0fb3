// A look at lanes: which have work, which messages the sweep must look at, which polls are due.
import { z } from 'zod'
import type { MessageId } from '../messages/message-id.ts'
import { defineMessageScript } from '../messages/store/message-script.ts'
import { laneBacklogKeys, laneChunkKeys, laneChunkLimiterKey, laneJobKey, laneMetaKey } from '../redis/bullmq-layout.ts'
import type { Redis } from '../redis/connect.ts'
import {
  activeCampaignsKey,
  inDoubtKey,
  laneCooldownKey,
  messageKey,
  pollKey,
  queuedAgainKey,
  rootKeys,
} from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'

/** Answer of ZRANGE 0 0 WITHSCORES over protocol 2: empty, or a member and its score. */
const memberAndScore = z.union([z.tuple([z.string(), z.coerce.number()]), z.tuple([])])

/** The state of one lane, read in one atomic step. */
export interface LaneSurvey {
  lane: number
  /** Jobs that wait for a worker. */
  waiting: number
  active: number
  /** Jobs that wait, are delayed or are being worked on. */
  backlog: number
  /** Chunks of campaigns that wait, are delayed or are being worked on; and those that are. */
  chunks: number
  activeChunks: number
  /** Chunk that goes next; undefined when none waits, or nobody may take it up. */
  chunkHead: string | undefined
  /** Campaigns that a worker has to look after. */
  activeCampaigns: number
  /** The lane is paused, in a cooldown, or within a window of its pace. Only known while jobs wait. */
  isHeld: boolean
  /** Job that goes next; undefined when none waits. */
  head: string | undefined
  /** When the sweep must look at the next message (epoch ms); undefined when none is to be looked at. */
  nextReviewAt: number | undefined
  /** When the next status poll is due (epoch ms); undefined when none is. */
  nextPollAt: number | undefined
  /** When the lane was looked at, by the clock that these times are of (epoch ms). */
  nowMs: number
}

const lookScript = defineScript(import.meta.url, 'lane-look')
const mendScript = defineMessageScript(import.meta.url, 'lane-mend')
const fileScript = defineMessageScript(import.meta.url, 'message-file')

const maybeTime = z.union([z.literal('').transform(() => undefined), z.coerce.number()])
const lookReply = z.tuple([
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.enum(['0', '1']),
  z.string(),
  maybeTime,
  maybeTime,
  maybeTime,
  z.number(),
  z.number(),
  z.string(),
  z.number(),
])

/** Looks at lanes in one round trip, one command each. */
export function surveyLanes(redis: Redis, lanes: readonly number[]): Promise<LaneSurvey[]> {
  return Promise.all(lanes.map((lane) => surveyLane(redis, lane)))
}

async function surveyLane(redis: Redis, lane: number): Promise<LaneSurvey> {
  const reply = await lookScript(redis, {
    ...laneBacklogKeys(lane),
    meta: laneMetaKey(lane),
    cooldown: laneCooldownKey(lane),
    inDoubt: inDoubtKey(lane),
    queuedAgain: queuedAgainKey(lane),
    polls: pollKey(lane),
    activeCampaigns: activeCampaignsKey(lane),
    ...laneChunkKeys(lane),
    chunkLimiter: laneChunkLimiterKey(lane),
  })
  const [waiting, delayed, active, activeCampaigns, held, head, openAt, queuedAt, nextPollAt, ...ofChunks] =
    lookReply.parse(reply)
  const [chunks, activeChunks, chunkHead, nowMs] = ofChunks
  return {
    lane,
    waiting,
    active,
    backlog: waiting + delayed + active,
    activeCampaigns,
    chunks,
    activeChunks,
    chunkHead: chunkHead === '' ? undefined : chunkHead,
    isHeld: held === '1',
    head: head === '' ? undefined : head,
    nextReviewAt: earliest(openAt, queuedAt),
    nextPollAt,
    nowMs,
  }
}

/** The earliest of the times that there are. */
export function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

/** Puts back in line what only seems to be sent, as after a loss of its record; how many there were. */
export async function mendActive(redis: Redis, lane: number): Promise<number> {
  const { active, waiting, prioritized } = laneBacklogKeys(lane)
  const args = { jobs: laneJobKey(lane, ''), records: messageKey(lane, '') }
  return z.number().parse(await mendScript(redis, { active, waiting, prioritized }, args))
}

/** How many senders there are, each with its lane. */
export const countLanes = (redis: Redis): Promise<number> => redis.hlen(rootKeys.lanes)

/** Which list of the sweep: attempts in doubt, or messages queued again whose job may be gone. */
export type SweepList = 'in_doubt' | 'queued_again'

const listKey = (list: SweepList, lane: number): string =>
  list === 'in_doubt' ? inDoubtKey(lane) : queuedAgainKey(lane)

/** ULIDs of messages whose time to be looked at has come, the oldest first. */
export async function overdueMessages(
  redis: Redis,
  list: SweepList,
  lane: number,
  nowMs: number,
  most: number,
): Promise<string[]> {
  return redis.zrangebyscore(listKey(list, lane), '-inf', nowMs, 'LIMIT', 0, most)
}

/** How many messages of the lane the sweep has still to look at: in doubt, and queued again. */
export async function awaitingReview(redis: Redis, lane: number): Promise<{ inDoubt: number; queuedAgain: number }> {
  const [inDoubt, queuedAgain] = await Promise.all([redis.zcard(inDoubtKey(lane)), redis.zcard(queuedAgainKey(lane))])
  return { inDoubt, queuedAgain }
}

/** Messages that are queued again are looked at at this time (epoch ms), unless they were claimed meanwhile. */
export async function rescheduleReview(
  redis: Redis,
  lane: number,
  ulids: readonly string[],
  atMs: number,
): Promise<void> {
  if (ulids.length > 0) await redis.zadd(queuedAgainKey(lane), 'XX', ...ulids.flatMap((ulid) => [atMs, ulid]))
}

/** A message that cannot be looked at now is looked at again at this time (epoch ms). */
export async function postponeReview(
  redis: Redis,
  list: SweepList,
  lane: number,
  ulid: string,
  atMs: number,
): Promise<void> {
  await redis.zadd(listKey(list, lane), 'XX', atMs, ulid)
}

/** Puts a message on the list where its state belongs, in one step with reading it; on none when nothing is left to do. */
export async function fileMessage(redis: Redis, { lane, ulid }: MessageId): Promise<void> {
  const keys = { record: messageKey(lane, ulid), inDoubt: inDoubtKey(lane), queuedAgain: queuedAgainKey(lane) }
  await fileScript(redis, keys, { ulid })
}

/** Takes a message off both lists: its sender is gone, so that nobody can say what to do about it. */
export async function removeFromReview(redis: Redis, { lane, ulid }: MessageId): Promise<void> {
  await Promise.all([redis.zrem(inDoubtKey(lane), ulid), redis.zrem(queuedAgainKey(lane), ulid)])
}

/** When the earliest status poll of a lane is due (epoch ms). */
export async function nextPollAt(redis: Redis, lane: number): Promise<number | undefined> {
  const [, score] = memberAndScore.parse(await redis.call('ZRANGE', pollKey(lane), 0, 0, 'WITHSCORES'))
  return score
}
