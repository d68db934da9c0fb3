// The lanes with data: those of existing senders, and those of removed senders until their last message has expired. Work on stored data
// (erasing, listing, trimming, events) goes over these lanes; sending goes over senders only (senders.ts).
//
// A lane is on the list of removed ones before it leaves the list of senders, so that no crash leaves it on neither.
import type { Redis } from '../redis/connect.ts'
import { rootKeys } from '../redis/keys.ts'

/** A lane whose sender was removed. */
export interface RemovedLane {
  lane: number
  account: number
}

const memberOf = ({ lane, account }: RemovedLane): string => `${account} ${lane}`

function readMember(member: string): RemovedLane {
  const [account, lane] = member.split(' ').map(Number)
  return { lane: lane ?? 0, account: account ?? 0 }
}

/** The lanes of the account with data, in order; without an account, those of all. */
export async function retainedLanes(redis: Redis, account?: number): Promise<number[]> {
  const [ofSenders, removed] = await Promise.all([
    redis.hgetall(rootKeys.lanes),
    redis.zrange(rootKeys.removedLanes, '0', '-1'),
  ])
  const all = [
    ...Object.entries(ofSenders).map(([lane, owner]) => ({ lane: Number(lane), account: Number(owner) })),
    ...removed.map(readMember),
  ]
  const own = all.filter((each) => account === undefined || each.account === account)
  return [...new Set(own.map(({ lane }) => lane))].sort((a, b) => a - b)
}

/** Sets until when (epoch ms) the lane is expected to have data; overwrites an earlier time. */
export async function retainLaneUntil(redis: Redis, lane: RemovedLane, untilMs: number): Promise<void> {
  await redis.zadd(rootKeys.removedLanes, untilMs, memberOf(lane))
}

/** Removed senders' lanes that are not expected to have data at this time (epoch ms). */
export async function lanesRetainedUntil(redis: Redis, nowMs: number): Promise<RemovedLane[]> {
  return (await redis.zrangebyscore(rootKeys.removedLanes, '-inf', nowMs)).map(readMember)
}

/** Takes the lane off the list: its data is gone, or its sender was added again. */
export async function dropRetainedLane(redis: Redis, lane: RemovedLane): Promise<void> {
  await redis.zrem(rootKeys.removedLanes, memberOf(lane))
}
