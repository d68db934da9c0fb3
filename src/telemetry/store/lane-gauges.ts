// How one lane stands, for metrics and history: one script, whatever is in the lane.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { readHistory } from '../../messages/history.ts'
import { acceptedAtMs, parseMessageId } from '../../messages/message-id.ts'
import { laneBacklogKeys, laneDeadLettersKey, laneMetaKey } from '../../queue/layout.ts'
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

/** The numbers of lane-gauges.lua in their order. */
const NUMBERS = [
  ...(['now', 'transactional', 'campaign', 'delayed', 'active', 'deadLetters', 'paused', 'cooldownUntil'] as const),
  ...(['inDoubt', 'requeueable', 'polls', 'firstPollAt', 'reopened'] as const),
] as const
const numbers = z
  .string()
  .transform((text) => text.split(' ').map(Number))
  .pipe(z.array(z.number()).length(NUMBERS.length))
const gaugesReply = z.tuple([numbers, z.string(), z.string(), z.string(), z.string()], z.unknown())

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

/** With two commands. */
async function readLaneGauges(redis: Redis, lane: number): Promise<LaneGauges> {
  const [reply, rate] = await Promise.all([
    gaugesScript(redis, {
      ...laneBacklogKeys(lane),
      deadLetters: laneDeadLettersKey(lane),
      meta: laneMetaKey(lane),
      cooldown: laneCooldownKey(lane),
      inDoubt: inDoubtKey(lane),
      requeueable: requeueableKey(lane),
      polls: pollKey(lane),
      reopened: reopenedKey(lane),
      activeCampaigns: activeCampaignsKey(lane),
      campaigns: campaignPrefix(lane),
      records: messageKey(lane, ''),
    }),
    redis.hget(senderKey(lane), 'rate'),
  ])
  const [list, head, history, headOfCampaigns, historyOfCampaigns, ...activeCampaigns] = gaugesReply.parse(reply)
  const at = (name: (typeof NUMBERS)[number]): number => list[NUMBERS.indexOf(name)] ?? 0
  const campaigns = new Map<string, number>()
  let campaignRemaining = 0
  for (let i = 0; i < activeCampaigns.length; i += 2) {
    const state = String(activeCampaigns[i])
    campaigns.set(state, (campaigns.get(state) ?? 0) + 1)
    campaignRemaining += Number(activeCampaigns[i + 1])
  }
  const since = (ms: number): number => Math.max(0, at('now') - ms) / 1_000
  return {
    lane,
    waiting: { transactional: at('transactional'), campaign: at('campaign') },
    oldestSeconds: {
      transactional: waitsFor(head, history, since),
      campaign: waitsFor(headOfCampaigns, historyOfCampaigns, since),
    },
    delayed: at('delayed'),
    active: at('active'),
    deadLetters: at('deadLetters'),
    paused: at('paused') === 1,
    cooldownSeconds: Math.max(0, at('cooldownUntil') - at('now')) / 1_000,
    inDoubt: at('inDoubt'),
    requeueable: at('requeueable'),
    pollsWaiting: at('polls'),
    pollsLateSeconds: at('firstPollAt') === 0 ? 0 : since(at('firstPollAt')),
    reopened: at('reopened'),
    rate: Number(rate ?? 0),
    campaigns,
    campaignRemaining,
  }
}

function waitsFor(job: string, history: string, since: (ms: number) => number): number {
  const id = parseMessageId(job)
  if (id === undefined) return 0
  const acceptedAt = acceptedAtMs(id.ulid)
  if (history === '') return since(acceptedAt)
  return since(readHistory(history, acceptedAt).findLast(({ code }) => code === 'q')?.atMs ?? acceptedAt)
}

/** Lanes that are asked about in one event-loop tick. */
const LANES_A_TURN = 100

/** The same of many lanes, in a few turns: asking about a thousand at once would hold up everything else for 30 ms. */
export async function readGaugesOf(redis: Redis, lanes: readonly number[]): Promise<LaneGauges[]> {
  const reading: Promise<LaneGauges>[] = []
  for (const [i, lane] of lanes.entries()) {
    if (i > 0 && i % LANES_A_TURN === 0) await nextTurn()
    const read = readLaneGauges(redis, lane)
    // It may fail while others are still being asked for; whoever called hears of it below.
    read.catch(() => undefined)
    reading.push(read)
  }
  return Promise.all(reading)
}
