// Which messages wait on a lane: those with a job of their own, and those of campaigns, whose chunks name places of a
// list.
import { z } from 'zod'
import { parseChunkJobId } from '../../jobs/chunk.ts'
import type { Redis } from '../../redis/connect.ts'
import { activeCampaignsKey, campaignPrefix } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { laneBacklogKeys, laneChunkKeys, laneMetaKey } from '../layout.ts'

const chunkedScript = defineScript(import.meta.url, 'lane-chunked')

/** Places of the chunks of a lane that wait or are worked on, as far as their names tell. */
export async function chunksOn(redis: Redis, lane: number): Promise<{ run: number; from: number; count: number }[]> {
  const { chunksWaiting, chunksDelayed, chunksActive } = laneChunkKeys(lane)
  const ids = await Promise.all([
    redis.lrange(chunksWaiting, 0, -1),
    redis.zrange(chunksDelayed, '0', '-1'),
    redis.lrange(chunksActive, 0, -1),
  ])
  return ids.flat().flatMap((id) => parseChunkJobId(id) ?? [])
}

/** Recipients whose messages wait in chunks of the lane: of running campaigns, and not claimed by anybody. */
export async function waitingInChunks(redis: Redis, lane: number): Promise<number> {
  const campaigns = { activeCampaigns: activeCampaignsKey(lane), campaigns: campaignPrefix(lane) }
  return z.number().parse(await chunkedScript(redis, { ...laneChunkKeys(lane), ...campaigns }))
}

/** Whether a person, or Laneway, has paused the lane. */
export const isLanePaused = async (redis: Redis, lane: number): Promise<boolean> =>
  (await redis.hexists(laneMetaKey(lane), 'paused')) === 1

/**
 * How many messages wait on these lanes with a job of their own, without those being sent and the recipients of
 * campaigns.
 */
export async function waitingOn(redis: Redis, lanes: readonly number[]): Promise<number> {
  const counts = await Promise.all(
    lanes.flatMap((lane) => {
      const { waiting, prioritized, delayed } = laneBacklogKeys(lane)
      return [redis.llen(waiting), redis.zcard(prioritized), redis.zcard(delayed)]
    }),
  )
  return counts.reduce((sum, each) => sum + each, 0)
}
