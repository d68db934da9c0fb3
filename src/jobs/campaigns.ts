// The jobs of campaigns. `preflight` reads the recipients once and freezes them; `fan-out` puts their messages on the lane,
// a few seconds' worth at a time, until all are done. Each has a queue of its own, so that reading long lists never delays
// a lane. Both name the epoch of the campaign that they work for, and stop when a new one has begun.

import { z } from 'zod'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'

/** Of fan-outs. */
export const CAMPAIGN_QUEUE = 'campaigns'
export const PREFLIGHT_QUEUE = 'preflights'
export type CampaignJob = 'preflight' | 'fan-out'

export const campaignPayloadSchema = z.object({
  v: z.literal(1),
  lane: z.number().int().positive(),
  number: z.number().int().positive(),
  epoch: z.number().int().positive(),
})
export type CampaignPayload = z.infer<typeof campaignPayloadSchema>

/** One job per piece of work: adding it again while it is there changes nothing. */
export const campaignJobId = (job: CampaignJob, { lane, number }: CampaignId, epoch: number): string =>
  `${job}_${lane}_${number}_${epoch}`
