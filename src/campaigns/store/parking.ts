// Running campaigns that nobody works on for a while, because there is nothing to feed or because others of their account
// are at work. Their job waits in BullMQ until a time, or until somebody wakes it; that costs Redis nothing. The mark says
// so to the workers' watch, which takes every other silent campaign for one whose worker has died.
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { campaignKey, parkedCampaignsKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import type { CampaignId } from '../campaign-id.ts'

/** `idle`: there is nothing to feed. `turn`: its account has its share of the worker's hands. */
export type ParkReason = 'idle' | 'turn'

/** That a campaign is parked, until when and why. */
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

/** Marks the campaign as parked, if it runs in this epoch; the next heartbeat takes the mark off. */
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

/** The marks of these campaigns of a lane, in their order; undefined for one that is not parked. */
export async function findParked(
  redis: Redis,
  lane: number,
  numbers: readonly number[],
): Promise<(Parked | undefined)[]> {
  if (numbers.length === 0) return []
  return (await redis.hmget(parkedCampaignsKey(lane), ...numbers.map(String))).map(readParked)
}

/** All parked campaigns of a lane, by number. Marks of campaigns that `isActive` does not know are taken off. */
export async function parkedOn(
  redis: Redis,
  lane: number,
  isActive: (number: number) => boolean,
): Promise<Map<number, Parked>> {
  const parked = new Map<number, Parked>()
  const left: string[] = []
  for (const [name, text] of Object.entries(await redis.hgetall(parkedCampaignsKey(lane)))) {
    const mark = readParked(text)
    if (mark !== undefined && isActive(Number(name))) parked.set(Number(name), mark)
    else left.push(name)
  }
  if (left.length > 0) await redis.hdel(parkedCampaignsKey(lane), ...left)
  return parked
}
