// A look at every lane at once: which have work, which messages need a decision, which polls are due.
import { z } from 'zod'
import { laneQueue } from '../jobs/lanes.ts'
import type { Redis } from './redis.ts'
import { laneBacklogKeys, openKey, pollKey, queuedAgainKey, rootKeys } from './redis-keys.ts'

/** Answer of ZRANGE 0 0 WITHSCORES over protocol 2: empty, or a member and its score. */
const memberAndScore = z.union([z.tuple([z.string(), z.coerce.number()]), z.tuple([])])

export interface LaneSurvey {
  lane: number
  /** Jobs that wait, are delayed or are being worked on. */
  backlog: number
  /** ULIDs of messages whose time to be looked at has come, the oldest first, at most 200. */
  overdue: string[]
  /** ULIDs of messages queued again of which nobody has made sure lately that they have a job, at most 500. */
  jobless: string[]
  /** When the next status poll is due (epoch ms); undefined when none is. */
  nextPollAt: number | undefined
}

const OVERDUE_AT_ONCE = 200
/** Looked at in one round trip, and in no hurry: whoever queues a message again adds its job, too. */
const JOBLESS_AT_ONCE = 500

/** Surveys all lanes in one round trip. */
export async function surveyLanes(redis: Redis, nowMs: number): Promise<LaneSurvey[]> {
  const lanes = (await redis.hkeys(rootKeys.lanes)).map(Number)
  if (lanes.length === 0) return []
  return Promise.all(
    lanes.map(async (lane) => {
      const keys = laneBacklogKeys(lane, laneQueue(lane))
      const [waiting, prioritized, delayed, active, overdue, jobless, next] = await Promise.all([
        redis.llen(keys.waiting),
        redis.zcard(keys.prioritized),
        redis.zcard(keys.delayed),
        redis.llen(keys.active),
        redis.zrangebyscore(openKey(lane), '-inf', nowMs, 'LIMIT', 0, OVERDUE_AT_ONCE),
        redis.zrangebyscore(queuedAgainKey(lane), '-inf', nowMs, 'LIMIT', 0, JOBLESS_AT_ONCE),
        nextPollAt(redis, lane),
      ])
      return {
        lane,
        backlog: waiting + prioritized + delayed + active,
        overdue,
        jobless,
        nextPollAt: next,
      }
    }),
  )
}

/** Looks at a message again `ms` from now. */
export async function lookAgain(redis: Redis, lane: number, ulid: string, atMs: number): Promise<void> {
  await redis.zadd(openKey(lane), 'XX', atMs, ulid)
}

/** Nothing is left to be decided about a message. */
export async function lookNoMore(redis: Redis, lane: number, ulid: string): Promise<void> {
  await redis.zrem(openKey(lane), ulid)
}

/** ULIDs whose status poll is due, the oldest first; each is put off until `leaseUntil`, so that no other poll takes it. */
export async function takeDuePolls(
  redis: Redis,
  lane: number,
  nowMs: number,
  leaseUntil: number,
  most: number,
): Promise<string[]> {
  const due = await redis.zrangebyscore(pollKey(lane), '-inf', nowMs, 'LIMIT', 0, most)
  if (due.length > 0) await redis.zadd(pollKey(lane), 'XX', ...due.flatMap((ulid) => [leaseUntil, ulid]))
  return due
}

export async function pollAgain(redis: Redis, lane: number, ulid: string, atMs: number): Promise<void> {
  await redis.zadd(pollKey(lane), 'XX', atMs, ulid)
}

export async function pollNoMore(redis: Redis, lane: number, ulid: string): Promise<void> {
  await redis.zrem(pollKey(lane), ulid)
}

/** When the earliest status poll of a lane is due (epoch ms). */
export async function nextPollAt(redis: Redis, lane: number): Promise<number | undefined> {
  const [, score] = memberAndScore.parse(await redis.call('ZRANGE', pollKey(lane), 0, 0, 'WITHSCORES'))
  return score
}
