// The heartbeat of a running campaign, which its fan-out writes while it is alive. Without one for too long the campaign is taken over: a
// new epoch begins, in which the former fan-out changes nothing any more.
import { z } from 'zod'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignKey, parkedCampaignsKey } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'

const takeoverScript = defineScript(import.meta.url, 'campaign-takeover')

export type TakeOver =
  | { kind: 'taken'; epoch: number }
  /** A process works on it, or may; `heartbeat` is the latest one. */
  | { kind: 'on'; heartbeat: string }
  /** It does not run. */
  | { kind: 'over' }

const takeoverReply = z.union([
  z.tuple([z.literal('taken'), z.number()]),
  z.tuple([z.literal('on'), z.string()]),
  z.tuple([z.literal('over')]),
])

/**
 * Begins a new epoch of a running campaign without a heartbeat for `silentMs`. `seenHeartbeat` is the one that the caller read before:
 * unless it is unchanged, the fan-out is alive and was only slow to write it.
 */
export async function takeOver(
  redis: Redis,
  id: CampaignId,
  silentMs: number,
  seenHeartbeat?: string,
): Promise<TakeOver> {
  const keys = { campaign: campaignKey(id.lane, id.number) }
  const reply = takeoverReply.parse(await takeoverScript(redis, keys, { silentMs, seenHeartbeat }))
  if (reply[0] === 'taken') return { kind: 'taken', epoch: reply[1] }
  return reply[0] === 'on' ? { kind: 'on', heartbeat: reply[1] } : { kind: 'over' }
}

/** The latest heartbeat of a campaign (epoch ms, as text; empty before the first) and its epoch. */
export async function heartbeatOf(
  redis: Redis,
  { lane, number }: CampaignId,
): Promise<{ heartbeat: string; epoch: number }> {
  const [heartbeat, epoch] = await redis.hmget(campaignKey(lane, number), 'beat', 'epoch')
  return { heartbeat: heartbeat ?? '', epoch: Number(epoch ?? 0) }
}

const heartbeatScript = defineScript(import.meta.url, 'campaign-heartbeat')

/** Writes the heartbeat of the fan-out of this epoch, and ends its parking. */
export async function sendCampaignHeartbeat(redis: Redis, { lane, number }: CampaignId, epoch: number): Promise<void> {
  const keys = { campaign: campaignKey(lane, number), parked: parkedCampaignsKey(lane) }
  await heartbeatScript(redis, keys, { epoch, number })
}
