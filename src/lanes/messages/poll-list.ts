// The list of a lane's messages to poll, within the budget that all workers share. When each is polled: poll-schedule.ts.
import { z } from 'zod'
import { POLL_FOR_MS, POLLS_AT_ONCE, pollPace } from '../../model/messages/poll-schedule.ts'
import type { Redis } from '../../redis/connect.ts'
import { nextPollKey, pollingKey, pollKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'

const takeScript = defineScript(import.meta.url, 'poll-take')
const cooldownScript = defineScript(import.meta.url, 'poll-cooldown')

const takeReply = z.tuple([z.number(), z.number()]).rest(z.string())

/** The polls that `takePolls` took, and when to call it again. */
export interface TakenPolls {
  /** ULIDs of the messages to poll, the longest overdue first. */
  ulids: string[]
  /** How long nothing more can be taken (ms); undefined when no message of the lane is left to poll. */
  waitMs: number | undefined
  /** Whether as many polls as allowed are under way: the end of one makes room, perhaps before `waitMs`. */
  isFull: boolean
}

/**
 * Takes polls that are due: at most 20 of a lane are under way at once and at most a quarter of `ratePerSecond` leave
 * in a second, over all workers. The caller polls at once and ends each with `endPoll`; after `leaseMs` without that it
 * is due again and no longer counts.
 */
export const takePolls = (redis: Redis, lane: number, ratePerSecond: number, leaseMs: number): Promise<TakenPolls> => {
  const { spacingMs, inOneGo } = pollPace(ratePerSecond)
  return take(redis, lane, { spacingMs, inOneGo, leaseMs })
}

/** How long until a poll of the lane may be taken (ms); undefined when no message is left to poll. */
export const untilNextPollMs = async (redis: Redis, lane: number): Promise<number | undefined> =>
  (await take(redis, lane, { spacingMs: 0, inOneGo: 0, leaseMs: 0 })).waitMs

async function take(
  redis: Redis,
  lane: number,
  { spacingMs, inOneGo, leaseMs }: { spacingMs: number; inOneGo: number; leaseMs: number },
): Promise<TakenPolls> {
  const reply = await takeScript(
    redis,
    { polls: pollKey(lane), underWay: pollingKey(lane), nextPoll: nextPollKey(lane) },
    { atOnce: POLLS_AT_ONCE, spacingMs, inOneGo, leaseMs, giveUpMs: POLL_FOR_MS },
  )
  const [waitMs, full, ...ulids] = takeReply.parse(reply)
  return { ulids, waitMs: waitMs < 0 ? undefined : waitMs, isFull: full === 1 }
}

/** A poll is over: it no longer counts, and the message is due again at `nextAt` (epoch ms), or never. */
export async function endPoll(redis: Redis, lane: number, ulid: string, nextAt: number | undefined): Promise<void> {
  await Promise.all([
    // XX: a message that other evidence took off meanwhile stays off.
    nextAt === undefined ? redis.zrem(pollKey(lane), ulid) : redis.zadd(pollKey(lane), 'XX', nextAt, ulid),
    redis.zrem(pollingKey(lane), ulid),
  ])
}

/** Lets no poll of the lane leave for `ms`, on any worker. */
export async function coolPolls(redis: Redis, lane: number, ms: number): Promise<void> {
  await cooldownScript(redis, { nextPoll: nextPollKey(lane) }, { ms })
}

/** How long no poll of the lane may leave yet (ms). */
export async function pollCooldownMs(redis: Redis, lane: number): Promise<number> {
  return Math.max(0, await redis.pttl(nextPollKey(lane)))
}
