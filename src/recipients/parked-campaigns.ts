// Parked campaigns: they run, but nobody works on them for a while, because there is nothing to feed or their account has its share of
// the workers. Their job is delayed in BullMQ until a time or a wake, which costs Redis nothing. The mark tells parked campaigns from
// those whose worker has died, which the workers' watch takes over.

import { z } from 'zod'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignKey, parkedCampaignsKey } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'

/** `idle`: there is nothing to feed. `turn`: its account has its share of the worker's slots. */
export type ParkReason = 'idle' | 'turn'

/** The parking of a campaign: until when and why. */
export interface Parked {
  epoch: number
  /** Epoch ms on the clock of Redis. */
  untilMs: number
  reason: ParkReason
}

/** How a campaign is to be parked, from now for `ms` milliseconds. */
export interface Parking {
  ms: number
  reason: ParkReason
  /** Messages per second, measured. */
  rate?: number
}

const parkScript = defineScript(import.meta.url, 'campaign-park')
const parkedSchema = z
  .string()
  .regex(/^\d+ \d+ (idle|turn)$/)
  .transform((text): Parked => {
    const [epoch, untilMs, reason] = text.split(' ')
    return { epoch: Number(epoch), untilMs: Number(untilMs), reason: reason === 'turn' ? 'turn' : 'idle' }
  })

/** Parks the campaign, if it runs in this epoch; the next heartbeat ends that. */
export async function parkCampaign(
  redis: Redis,
  { lane, number }: CampaignId,
  epoch: number,
  { ms, reason, rate }: Parking,
): Promise<void> {
  const keys = { campaign: campaignKey(lane, number), parked: parkedCampaignsKey(lane) }
  await parkScript(redis, keys, { epoch, number, ms: Math.ceil(ms), reason, rate: rate?.toFixed(2) })
}

const readParked = (text: string | null | undefined): Parked | undefined => {
  const parsed = parkedSchema.safeParse(text)
  return parsed.success ? parsed.data : undefined
}

/** Until when these campaigns of a lane are parked, in their order; undefined for one that is not. */
export async function findParked(
  redis: Redis,
  lane: number,
  numbers: readonly number[],
): Promise<(Parked | undefined)[]> {
  if (numbers.length === 0) return []
  return (await redis.hmget(parkedCampaignsKey(lane), ...numbers.map(String))).map(readParked)
}

/** All parked campaigns of a lane, by number. Entries of campaigns that `isActive` does not know are removed. */
export async function parkedOn(
  redis: Redis,
  lane: number,
  isActive: (number: number) => boolean,
): Promise<Map<number, Parked>> {
  const parked = new Map<number, Parked>()
  const left: string[] = []
  for (const [name, text] of Object.entries(await redis.hgetall(parkedCampaignsKey(lane)))) {
    const found = readParked(text)
    if (found !== undefined && isActive(Number(name))) parked.set(Number(name), found)
    else left.push(name)
  }
  if (left.length > 0) await redis.hdel(parkedCampaignsKey(lane), ...left)
  return parked
}
