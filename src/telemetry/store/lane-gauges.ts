// How one lane stands, for metrics and history: one script, whatever is in the lane.
import { z } from 'zod'
import { readHistory } from '../../messages/history.ts'
import { acceptedAtMs, parseMessageId } from '../../messages/message-id.ts'
import { laneBacklogKeys, laneDeadLettersKey, laneMetaKey } from '../../redis/bullmq-layout.ts'
import type { Redis } from '../../redis/connect.ts'
import {
  activeCampaignsKey,
  campaignPrefix,
  inDoubtKey,
  laneCooldownKey,
  messageKey,
  pollKey,
  reopenedKey,
  requeueableKey,
  senderKey,
} from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'

const gaugesScript = defineScript(import.meta.url, 'lane-gauges')

const number = z.coerce.number()
const numbersSchema = z.object({
  now: number,
  transactional: number,
  campaign: number,
  delayed: number,
  active: number,
  deadLetters: number,
  paused: number,
  cooldownUntil: number,
  inDoubt: number,
  requeueable: number,
  polls: number,
  firstPollAt: number,
  reopened: number,
})
const namesAndValues = z.array(z.union([z.string(), z.number()])).transform((list) => {
  const pairs: [name: string, value: string | number][] = []
  for (let i = 0; i + 1 < list.length; i += 2) pairs.push([String(list[i]), list[i + 1] ?? 0])
  return pairs
})
const head = z.tuple([z.string(), z.string()])
const gaugesReply = z.tuple([
  namesAndValues.transform((pairs) => numbersSchema.parse(Object.fromEntries(pairs))),
  head,
  head,
  namesAndValues,
])

/** How a lane stands. Times are in seconds from now. */
export interface LaneGauges {
  lane: number
  waiting: { transactional: number; campaign: number }
  /** Since the message was accepted that is next of its class, or since a person queued it again; 0 without one. */
  oldestSeconds: { transactional: number; campaign: number }
  delayed: number
  active: number
  deadLetters: number
  paused: boolean
  /** Until the cooldown ends; 0 without one. */
  cooldownSeconds: number
  /** Being sent, or unconfirmed. */
  inDoubt: number
  requeueable: number
  pollsWaiting: number
  /** How late the poll is that should have left first; 0 when none is late. */
  pollsLateSeconds: number
  reopened: number
  /** Messages per second; 0 when there is no sender any more. */
  rate: number
  /** Its active campaigns: how many are in each state, and how many of their recipients have no outcome yet. */
  campaigns: Map<string, number>
  campaignRemaining: number
}

/** Reads one lane with two commands; called for many in one turn, they go to Redis in one piece. */
export async function readLaneGauges(redis: Redis, lane: number): Promise<LaneGauges> {
  const [reply, rate] = await Promise.all([
    gaugesScript(
      redis,
      {
        ...laneBacklogKeys(lane),
        deadLetters: laneDeadLettersKey(lane),
        meta: laneMetaKey(lane),
        cooldown: laneCooldownKey(lane),
        inDoubt: inDoubtKey(lane),
        requeueable: requeueableKey(lane),
        polls: pollKey(lane),
        reopened: reopenedKey(lane),
        activeCampaigns: activeCampaignsKey(lane),
      },
      { campaigns: campaignPrefix(lane), records: messageKey(lane, '') },
    ),
    redis.hget(senderKey(lane), 'rate'),
  ])
  const [found, next, nextOfCampaigns, activeCampaigns] = gaugesReply.parse(reply)
  const campaigns = new Map<string, number>()
  let campaignRemaining = 0
  for (const [state, remaining] of activeCampaigns) {
    campaigns.set(state, (campaigns.get(state) ?? 0) + 1)
    campaignRemaining += Number(remaining)
  }
  const since = (ms: number): number => Math.max(0, found.now - ms) / 1_000
  return {
    lane,
    waiting: { transactional: found.transactional, campaign: found.campaign },
    oldestSeconds: { transactional: waitsFor(next, since), campaign: waitsFor(nextOfCampaigns, since) },
    delayed: found.delayed,
    active: found.active,
    deadLetters: found.deadLetters,
    paused: found.paused === 1,
    cooldownSeconds: Math.max(0, found.cooldownUntil - found.now) / 1_000,
    inDoubt: found.inDoubt,
    requeueable: found.requeueable,
    pollsWaiting: found.polls,
    pollsLateSeconds: found.firstPollAt === 0 ? 0 : since(found.firstPollAt),
    reopened: found.reopened,
    rate: Number(rate ?? 0),
    campaigns,
    campaignRemaining,
  }
}

function waitsFor([job, history]: z.infer<typeof head>, since: (ms: number) => number): number {
  const id = parseMessageId(job)
  if (id === undefined) return 0
  const acceptedAt = acceptedAtMs(id.ulid)
  return since(readHistory(history, acceptedAt).findLast(({ code }) => code === 'q')?.atMs ?? acceptedAt)
}
