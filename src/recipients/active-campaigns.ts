// The list of active campaigns: of each lane, with their states, and the lanes that have any. Workers watch what is on it.
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import type { Redis } from '../redis/connect.ts'
import { whereAnswered } from '../redis/each-server.ts'
import { activeCampaignsKey, rootKeys } from '../redis/keys.ts'
import { type Parked, parkedOn } from './parked-campaigns.ts'

/** The active campaigns of the lane, by number, with their states. */
async function activeOn(redis: Redis, lane: number): Promise<[number: number, state: string][]> {
  return Object.entries(await redis.hgetall(activeCampaignsKey(lane))).map(([number, state]) => [Number(number), state])
}

/** Numbers of the campaigns that run on the lane. */
export async function runningOn(redis: Redis, lane: number): Promise<number[]> {
  return (await activeOn(redis, lane)).flatMap(([number, state]) => (state === 'running' ? [number] : []))
}

/** A campaign that workers watch. */
export interface ActiveCampaign {
  id: CampaignId
  state: string
  /** Nobody works on it until then; its fan-out is not dead. */
  parked: Parked | undefined
}

/** The active campaigns of all lanes, with their states; those of a server of a cluster that does not answer are left out. */
export async function activeCampaigns(redis: Redis): Promise<ActiveCampaign[]> {
  const lanes = (await redis.smembers(rootKeys.campaignLanes)).map(Number)
  const ask = async (lane: number): Promise<ActiveCampaign[]> => {
    const states = await activeOn(redis, lane)
    if (states.length === 0) await removeCampaignLane(redis, lane)
    const running = new Set(states.flatMap(([number, state]) => (state === 'running' ? [number] : [])))
    const parked = await parkedOn(redis, lane, (number) => running.has(number))
    return states.map(([number, state]) => ({ id: { lane, number }, state, parked: parked.get(number) }))
  }
  return (await whereAnswered(redis, lanes, { what: 'campaigns', ask })).flat()
}

/** Puts the lane on the list of those with active campaigns. */
export async function addCampaignLane(redis: Redis, lane: number): Promise<void> {
  await redis.sadd(rootKeys.campaignLanes, lane)
}

/**
 * Takes a lane off the list of those with campaigns, and puts it back if one has come meanwhile. If this process dies in between, the
 * sweep's slow round over all lanes finds the campaign.
 */
async function removeCampaignLane(redis: Redis, lane: number): Promise<void> {
  await redis.srem(rootKeys.campaignLanes, lane)
  if ((await redis.hlen(activeCampaignsKey(lane))) > 0) await addCampaignLane(redis, lane)
}
