// Messages to workers over Redis pub/sub: lanes with work, lanes that need more workers, lanes to reopen.
import { DAY_MS } from '../kernel/time-units.ts'
import type { Redis } from '../redis/connect.ts'
import { reopenedKey, rootKeys } from '../redis/keys.ts'

const REOPENED_KEPT_MS = 7 * DAY_MS

/**
 * Publishes that a lane has jobs, or places of campaigns, and marks it for the sweep, which finds the work should the message be
 * lost: a lost PUBLISH delays and loses nothing. Not waited for.
 */
export function wakeLane(redis: Redis, lane: number, what: 'jobs' | 'campaigns' = 'jobs'): void {
  redis.publish(what === 'campaigns' ? rootKeys.wakeCampaigns : rootKeys.wake, String(lane)).catch(() => {})
  // Refused or lost, the sweep's slow round over all lanes finds the work.
  markLane(redis, lane).catch(() => {})
}

/** Marks the lane for the sweep now. */
export async function markLane(redis: Redis, lane: number): Promise<void> {
  await redis.zadd(rootKeys.dueLanes, 'LT', 0, String(lane))
}

/** Announces lanes with work: workers that have not opened them do so. */
export async function wakeLanes(redis: Redis, lanes: readonly number[]): Promise<void> {
  if (lanes.length > 0) await redis.publish(rootKeys.wakeLanes, lanes.join(' '))
}

/** The same for lanes on which places of campaigns wait. */
export async function wakeCampaignLanes(redis: Redis, lanes: readonly number[]): Promise<void> {
  if (lanes.length > 0) await redis.publish(rootKeys.wakeCampaigns, lanes.join(' '))
}

/** The lanes of such a message. */
export const lanesToWake = (message: string): number[] => message.split(' ').map(Number)

/** A lane that needs so many workers. */
export interface LaneNeed {
  lane: number
  servers: number
}

/** Announces lanes that need more workers: those that rank next for them help. */
export async function askForServers(redis: Redis, needs: readonly LaneNeed[]): Promise<void> {
  if (needs.length === 0) return
  await redis.publish(rootKeys.wideLanes, needs.map(({ lane, servers }) => `${lane}:${servers}`).join(' '))
}

/** The lanes of such a message. */
export const serversAsked = (message: string): LaneNeed[] =>
  message.split(' ').map((each) => {
    const [lane = 0, servers = 0] = each.split(':').map(Number)
    return { lane, servers }
  })

/** Announces a stuck lane: workers that have it open reopen it. */
export async function askToReopen(redis: Redis, lane: number): Promise<void> {
  await redis.publish(rootKeys.reopen, String(lane))
}

/** Counts that a worker has reopened the lane. */
export async function countReopened(redis: Redis, lane: number): Promise<void> {
  // Not INCR: a command whose reply was lost is sent again and would count twice. Only the sweeper counts.
  await redis.set(reopenedKey(lane), (await timesReopened(redis, lane)) + 1, 'PX', REOPENED_KEPT_MS)
}

/** How often workers have reopened the lane lately. */
export async function timesReopened(redis: Redis, lane: number): Promise<number> {
  return Number((await redis.get(reopenedKey(lane))) ?? 0)
}
