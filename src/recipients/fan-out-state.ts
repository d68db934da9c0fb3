// The state of a fan-out in Redis. One step moves its cursor and reads what the next round needs.

import { z } from 'zod'
import { laneBacklogKeys } from '../lanes/bullmq/layout.ts'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import { ASIDE } from '../model/campaigns/counts.ts'
import type { Redis } from '../redis/connect.ts'
import { activeCampaignsKey, campaignCountsKey, campaignKey, placesKey, throttledKey } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { observerOf } from '../redis/observe.ts'
import { type Counts, countsOf } from './recipient-states.ts'

/** The state of a running campaign and its lane. */
export interface FanOutState {
  /** Clock of Redis, epoch ms. */
  nowMs: number
  /** Place of the recipient that is fed next. */
  next: number
  counts: Counts
  /** Of the failed, unconfirmed and unknown ones, those that say nothing about the campaign (model/campaigns/exempt.ts). */
  exempt: number
  /** Campaigns that run on the lane, this one included. */
  running: number
  /** Jobs of the lane, of whatever origin, and how many of them are due in more than 10 s. */
  backlog: number
  later: number
  /** Places of the lane's campaigns that wait. */
  places: number
  /** How often the provider has throttled the lane. */
  throttled: number
}

const roundScript = defineScript(import.meta.url, 'campaign-round')
const roundReply = z.union([
  z.tuple([z.literal('over'), z.number()]),
  z.tuple([
    z.literal('on'),
    z.number(),
    z.number(),
    z.number(),
    z.number(),
    z.number(),
    z.number(),
    z.number(),
    z.number(),
    z.array(z.string()),
  ]),
])

/**
 * Moves the cursor if asked to, and counts the recipients that it passes for the first time as accepted: those fed again after a resume
 * were counted before. Undefined when the campaign does not run in this epoch any more.
 */
export async function advanceFanOut(
  redis: Redis,
  { lane, number }: CampaignId,
  epoch: number,
  report: { cursor?: { from: number; to: number } | undefined; rate: number; pace: number | undefined },
): Promise<FanOutState | undefined> {
  const { waiting, prioritized, delayed, active } = laneBacklogKeys(lane)
  const reply = roundReply.parse(
    await roundScript(
      redis,
      {
        campaign: campaignKey(lane, number),
        counts: campaignCountsKey(lane, number),
        activeCampaigns: activeCampaignsKey(lane),
        ...{ waiting, prioritized, delayed, active },
        places: placesKey(lane),
        throttled: throttledKey(lane),
      },
      { epoch, moved: report.cursor, rate: report.rate.toFixed(2), pace: report.pace?.toFixed(2) ?? '' },
    ),
  )
  if (reply[1] > 0) observerOf(redis).accepted({ lane, class: 'campaign', count: reply[1] })
  if (reply[0] === 'over') return undefined
  const [, , nowMs, next, running, backlog, later, places, throttled, flat] = reply
  const hash = Object.fromEntries(flat.flatMap((letter, i) => (i % 2 === 0 ? [[letter, flat[i + 1] ?? '0']] : [])))
  const figures = { nowMs, next, running, backlog, later, places, throttled }
  return { ...figures, counts: countsOf(hash), exempt: Number(hash[ASIDE.exempt] ?? 0) }
}

/**
 * Counts a message that the provider has throttled. A command that is sent again after its reply was lost counts twice, which costs the
 * lane's campaigns a little pace for a moment.
 */
export async function noteThrottled(redis: Redis, lane: number): Promise<void> {
  await redis.incr(throttledKey(lane))
}
