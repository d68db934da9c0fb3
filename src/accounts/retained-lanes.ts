// The lanes that anything is kept of: those of senders that are there, and those of removed senders until the last of what
// they sent and received has ended. Work that concerns what is kept (erasing, showing, trimming, telling) goes over these
// lanes; work that sends goes over senders only (senders.ts).
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

/** The lanes of the account that anything is kept of, in their order; without an account, those of all. */
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

/** Something of the lane is kept until then (epoch ms), as far as is known. Doing it again overwrites the time. */
export async function keepLaneUntil(redis: Redis, lane: RemovedLane, untilMs: number): Promise<void> {
  await redis.zadd(rootKeys.removedLanes, untilMs, memberOf(lane))
}

/** Removed senders' lanes that nothing is known to be kept of any more at this time (epoch ms). */
export async function lanesKeptUntil(redis: Redis, nowMs: number): Promise<RemovedLane[]> {
  return (await redis.zrangebyscore(rootKeys.removedLanes, '-inf', nowMs)).map(readMember)
}

/** Nothing of the lane is kept any more, or its sender was added again. */
export async function dropKeptLane(redis: Redis, lane: RemovedLane): Promise<void> {
  await redis.zrem(rootKeys.removedLanes, memberOf(lane))
}
