// One round of a fan-out in Redis: the cursor moves and what the next round needs is read, in one step.
import { z } from 'zod'
import { observerOf } from '../../observe.ts'
import { laneBacklogKeys, laneChunkKeys } from '../../queue/layout.ts'
import type { Redis } from '../../redis/connect.ts'
import { activeCampaignsKey, campaignCountsKey, campaignKey, throttledKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import type { CampaignId } from '../campaign-id.ts'
import { type Counts, countsOf } from './counts.ts'

/** How a running campaign and its lane stand. */
export interface FanOutState {
  /** Clock of Redis, epoch ms. */
  nowMs: number
  /** Place of the recipient that is fed next. */
  next: number
  counts: Counts
  /**
   * Of the failed, unconfirmed and unknown ones, those that say nothing about the campaign (isExempt in
   * message-lifecycle.lua).
   */
  exempt: number
  /** Campaigns that run on the lane, this one included. */
  running: number
  /** Jobs of the lane, of whatever origin. */
  backlog: number
  /** Chunks of the lane's campaigns that wait or are worked on. */
  chunks: number
  /** How often the provider has thrown a message of the lane back for being too fast. */
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
    z.array(z.string()),
  ]),
])

/**
 * Moves the cursor if asked to, and tells of those it passes for the first time that they were accepted: who is fed again
 * after a resume was counted before. Undefined when the campaign does not run in this epoch any more.
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
        ...laneChunkKeys(lane),
        throttled: throttledKey(lane),
      },
      { epoch, moved: report.cursor, rate: report.rate.toFixed(2), pace: report.pace?.toFixed(2) ?? '' },
    ),
  )
  if (reply[1] > 0) observerOf(redis).accepted({ lane, class: 'campaign', count: reply[1] })
  if (reply[0] === 'over') return undefined
  const [, , nowMs, next, running, backlog, chunks, throttled, flat] = reply
  const hash = Object.fromEntries(flat.flatMap((letter, i) => (i % 2 === 0 ? [[letter, flat[i + 1] ?? '0']] : [])))
  return { nowMs, next, running, backlog, chunks, throttled, counts: countsOf(hash), exempt: Number(hash.exempt ?? 0) }
}

/**
 * The provider has thrown a message of the lane back for being too fast. Sent again after its reply was lost, it counts
 * twice, which costs the lane's campaigns a little of their pace for a moment, and nobody is shown it.
 */
export async function noteThrottled(redis: Redis, lane: number): Promise<void> {
  await redis.incr(throttledKey(lane))
}
