// Figures of a lane for lists, metrics and the console, read in one step. The sweeper reads fewer (due-lanes.ts).
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { masked } from '../kernel/masked.ts'
import { acceptedAtMs, parseMessageId } from '../kernel/message-id.ts'
import { HISTORY, readHistory } from '../model/messages/history.ts'
import type { Redis } from '../redis/connect.ts'
import {
  activeCampaignsKey,
  campaignPrefix,
  inDoubtKey,
  laneCooldownKey,
  laneCooldownReasonKey,
  laneSlotsKey,
  messageKey,
  placesKey,
  pollKey,
  reopenedKey,
  requeueableKey,
} from '../redis/keys.ts'
import { laneBacklogKeys, laneDeadLettersKey, laneMetaKey, META } from './bullmq/layout.ts'
import { defineMessageScript } from './messages/message-script.ts'

/** The numbers of a lane, by their place in what lane-stats.lua returns. */
export const NUMBER = {
  nowUs: 1,
  transactional: 2,
  campaign: 3,
  places: 4,
  delayed: 5,
  active: 6,
  deadLetters: 7,
  paused: 8,
  cooldownUntil: 9,
  inDoubt: 10,
  sending: 11,
  requeueable: 12,
  pollsWaiting: 13,
  firstPollAt: 14,
  reopened: 15,
  slots: 16,
  lastUs: 17,
  firstUs: 18,
  placeStartedAt: 19,
} as const

const statsScript = defineMessageScript(import.meta.url, 'lane-stats', { NUMBER })

const statsReply = z.array(z.string()).min(6)

/** When the cooldown of a lane ends, and what began it. */
export interface LaneCooldown {
  /** Epoch ms. */
  until: number
  /** WhatsApp's code or a word of ours such as `connect_failed`; empty when it is not known. */
  code: string
  /** For a person; numbers are masked. Empty when it is not known. */
  sentence: string
}

/** A lane at one moment. Times are epoch ms on Redis' clock unless their names say µs. */
export interface LaneStats {
  lane: number
  nowMs: number
  /** Jobs that wait for their turn. */
  waiting: { transactional: number; campaign: number }
  /** Unclaimed recipients of running campaigns who wait on the lane. */
  places: number
  /**
   * Since when the next message of each kind waits: since it was accepted, or queued again by a person; of a
   * place, since its campaign was started. Undefined when none waits.
   */
  oldest: { transactional: number | undefined; campaign: number | undefined; place: number | undefined }
  /** The job that goes next; as long as it is the same, nothing has left. */
  head: string
  delayed: number
  active: number
  deadLetters: number
  isPaused: boolean
  cooldown: LaneCooldown | undefined
  /** Being sent, or unconfirmed. */
  inDoubt: number
  /** Of these, being sent; above 64 in doubt, an estimate. */
  sending: number
  requeueable: number
  pollsWaiting: number
  /** When the first of them is due; 0 without one. */
  firstPollAt: number
  reopened: number
  /** How many slots were reserved lately, and the first and the last of them (µs). */
  slots: { count: number; firstUs: number; lastUs: number }
  nowUs: number
  /** Active campaigns; `remaining`: recipients without an outcome, counted for the first 20 campaigns. */
  campaigns: { number: number; state: string; remaining: number }[]
}

/** Reads the figures of a lane; rejects when Redis is away. */
export async function readLaneStats(redis: Redis, lane: number): Promise<LaneStats> {
  const reply = await statsScript(redis, {
    ...laneBacklogKeys(lane),
    places: placesKey(lane),
    deadLetters: laneDeadLettersKey(lane),
    meta: laneMetaKey(lane),
    cooldown: laneCooldownKey(lane),
    cooldownReason: laneCooldownReasonKey(lane),
    inDoubt: inDoubtKey(lane),
    requeueable: requeueableKey(lane),
    polls: pollKey(lane),
    reopened: reopenedKey(lane),
    slots: laneSlotsKey(lane),
    activeCampaigns: activeCampaignsKey(lane),
    campaigns: campaignPrefix(lane),
    records: messageKey(lane, ''),
  })
  const [numbers = '', head = '', history = '', headOfCampaigns = '', historyOfCampaigns = '', reason = '', ...rest] =
    statsReply.parse(reply)
  const found = numbers.split(' ').map(Number)
  const numberOf = (name: keyof typeof NUMBER): number => found[NUMBER[name] - 1] ?? Number.NaN
  // The last of them.
  if (Number.isNaN(numberOf('placeStartedAt'))) throw new Error(`lane ${lane} gave no figures`)
  const nowUs = numberOf('nowUs')
  const nowMs = Math.floor(nowUs / 1_000)
  return {
    lane,
    nowMs,
    nowUs,
    places: numberOf('places'),
    delayed: numberOf('delayed'),
    active: numberOf('active'),
    deadLetters: numberOf('deadLetters'),
    inDoubt: numberOf('inDoubt'),
    sending: numberOf('sending'),
    requeueable: numberOf('requeueable'),
    reopened: numberOf('reopened'),
    pollsWaiting: numberOf('pollsWaiting'),
    firstPollAt: numberOf('firstPollAt'),
    isPaused: numberOf('paused') === 1,
    head: head || headOfCampaigns,
    waiting: { transactional: numberOf('transactional'), campaign: numberOf('campaign') },
    oldest: {
      transactional: waitsSince(head, history),
      campaign: waitsSince(headOfCampaigns, historyOfCampaigns),
      place: numberOf('placeStartedAt') || undefined,
    },
    cooldown: cooldownOf(numberOf('cooldownUntil'), nowMs, reason),
    slots: { count: numberOf('slots'), firstUs: numberOf('firstUs'), lastUs: numberOf('lastUs') },
    campaigns: Array.from({ length: rest.length / 3 }, (_, i) => ({
      number: Number(rest[3 * i]),
      state: rest[3 * i + 1] ?? '',
      remaining: Number(rest[3 * i + 2]),
    })),
  }
}

/** Since when the longest waiting message waits; undefined when none waits. */
export function oldestOf({
  oldest: { transactional, campaign, place },
}: Pick<LaneStats, 'oldest'>): number | undefined {
  const known = [transactional, campaign, place].filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

function waitsSince(job: string, history: string): number | undefined {
  const id = parseMessageId(job)
  if (id === undefined) return undefined
  const acceptedAt = acceptedAtMs(id.ulid)
  // Before the claim there is no history.
  if (history === '') return acceptedAt
  return readHistory(history, acceptedAt).findLast(({ code }) => code === HISTORY.queuedAgain)?.atMs ?? acceptedAt
}

/** The cooldown of these keys' values; undefined when it is over. `reason`: `code|sentence`. */
export function cooldownOf(until: number, nowMs: number, reason: string): LaneCooldown | undefined {
  if (until <= nowMs) return undefined
  const at = reason.indexOf('|')
  return at < 0
    ? { until, code: '', sentence: '' }
    : { until, code: reason.slice(0, at), sentence: masked(reason.slice(at + 1)) }
}

/**
 * Reads many lanes, `aTurn` of them in one turn of the event loop: reading a thousand at once would block everything else for 30 ms.
 */
export async function inTurns<T>(
  lanes: readonly number[],
  aTurn: number,
  ask: (lane: number) => Promise<T>,
): Promise<T[]> {
  const asked: Promise<T>[] = []
  for (const [i, lane] of lanes.entries()) {
    if (i > 0 && i % aTurn === 0) await nextTurn()
    const asking = ask(lane)
    // Marks an early rejection as handled; the caller gets it below.
    asking.catch(() => undefined)
    asked.push(asking)
  }
  return Promise.all(asked)
}

/** Whether a person, or Laneway, has paused the lane. */
export const isLanePaused = async (redis: Redis, lane: number): Promise<boolean> =>
  (await redis.hexists(laneMetaKey(lane), META.paused)) === 1

/** How many messages wait on these lanes as jobs; without those being sent, and without places of campaigns. */
export async function waitingOn(redis: Redis, lanes: readonly number[]): Promise<number> {
  const counts = await Promise.all(
    lanes.flatMap((lane) => {
      const { waiting, prioritized, delayed } = laneBacklogKeys(lane)
      return [redis.llen(waiting), redis.zcard(prioritized), redis.zcard(delayed)]
    }),
  )
  return counts.reduce((sum, each) => sum + each, 0)
}
