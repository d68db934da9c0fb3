// What a snapshot needs of one lane, with one script and one look at its sender.
import { z } from 'zod'
import { readHistory } from '../../messages/history.ts'
import { masked } from '../../messages/masked.ts'
import { acceptedAtMs, parseMessageId } from '../../messages/message-id.ts'
import { paceOf } from '../../messages/pace.ts'
import { laneBacklogKeys, laneChunkKeys, laneDeadLettersKey, laneMetaKey } from '../../queue/layout.ts'
import type { Redis } from '../../redis/connect.ts'
import {
  activeCampaignsKey,
  campaignPrefix,
  historyKey,
  inDoubtKey,
  laneCooldownKey,
  laneCooldownReasonKey,
  laneSlotsKey,
  messageKey,
  senderKey,
} from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { FINE } from '../history-fields.ts'

const factsScript = defineScript(import.meta.url, 'lane-facts')

/** The numbers of lane-facts.lua in their order. */
const NUMBERS = [
  ...(['nowUs', 'single', 'prioritized', 'inChunks', 'deadLetters', 'paused', 'lastSlotUs', 'cooldownUntil'] as const),
  ...(['inDoubt', 'sending', 'slots', 'firstSlotUs', 'chunkStartedAt'] as const),
] as const
const numbers = z
  .string()
  .transform((text) => text.split(' ').map(Number))
  .pipe(z.array(z.number()).length(NUMBERS.length))
const reply = z.tuple([numbers, ...(Array.from({ length: 7 }, () => z.string()) as Seven)])
type Seven = [z.ZodString, z.ZodString, z.ZodString, z.ZodString, z.ZodString, z.ZodString, z.ZodString]

const SENDER_FIELDS = ['account', 'name', 'number', 'rate', 'paused_for', 'paused_by', 'removed_at'] as const
const text = z.string().nullable()
const senderReply = z.tuple([text, text, text, text, text, text, text])

/** A lane at one moment. */
export interface LiveLane {
  lane: number
  account: number
  name: string
  nowMs: number
  waiting: { transactional: number; campaign: number }
  /** Since the message was accepted, or queued again by a person, that is next; undefined when none waits. */
  oldestSinceMs: number | undefined
  /** What goes next: as long as it is the same, nothing has left. */
  head: string
  inFlight: number
  unconfirmed: number
  deadLetters: number
  rate: number
  isPaused: boolean
  pausedFor: string
  pausedBy: string
  /** Its pace lets nothing more out for now. */
  isLimited: boolean
  cooldown: { untilMs: number; code: string; sentence: string } | undefined
  paceUsed: number
  /** Counts of the places that were asked for, the oldest first; empty where nothing was counted. */
  counts: string[]
  /** Numbers of the campaigns that a worker looks after. */
  campaigns: number[]
}

/** Places of the fine history, from the one `back` places ago to the one of now. */
export function placesUntil(nowMs: number, back: number): { atMs: number; chunk: number; place: string }[] {
  const { everyMs, chunkMs } = FINE
  const last = nowMs - (nowMs % everyMs)
  return Array.from({ length: back + 1 }, (_, i) => {
    const atMs = last - (back - i) * everyMs
    return { atMs, chunk: Math.floor(atMs / chunkMs), place: String(Math.floor((atMs % chunkMs) / everyMs)) }
  })
}

export type LaneKeys = ReturnType<typeof laneKeysOf>

/** The keys that are looked at, made once: a page looks each second. */
export function laneKeysOf(lane: number) {
  const { waiting, prioritized } = laneBacklogKeys(lane)
  return {
    facts: {
      ...{ waiting, prioritized, ...laneChunkKeys(lane) },
      deadLetters: laneDeadLettersKey(lane),
      meta: laneMetaKey(lane),
      cooldown: laneCooldownKey(lane),
      cooldownReason: laneCooldownReasonKey(lane),
      inDoubt: inDoubtKey(lane),
      slots: laneSlotsKey(lane),
      activeCampaigns: activeCampaignsKey(lane),
    },
    sender: senderKey(lane),
    records: messageKey(lane, ''),
    campaigns: campaignPrefix(lane),
  }
}

/** The lane with what was counted at these places; undefined when there is no such sender any more. */
export async function readLiveLane(
  redis: Redis,
  lane: number,
  keys: LaneKeys,
  places: ReturnType<typeof placesUntil>,
): Promise<LiveLane | undefined> {
  const chunk = places.at(-1)?.chunk ?? 0
  const of = (wanted: number): string[] => places.flatMap((each) => (each.chunk === wanted ? [each.place] : []))
  const [raw, sender] = await Promise.all([
    factsScript(
      redis,
      {
        ...keys.facts,
        now: historyKey(lane, FINE.name, chunk),
        before: historyKey(lane, FINE.name, chunk - 1),
      },
      { records: keys.records, campaigns: keys.campaigns, places: of(chunk), earlier: of(chunk - 1) },
    ),
    redis.hmget(keys.sender, ...SENDER_FIELDS),
  ])
  const [account, name, number, rate, pausedFor, pausedBy, removedAt] = senderReply.parse(sender)
  if (account === null || removedAt !== null) return undefined
  const [list, head, history, headOfCampaigns, historyOfCampaigns, cooldownReason, counts, campaigns] = reply.parse(raw)
  const at = (wanted: (typeof NUMBERS)[number]): number => list[NUMBERS.indexOf(wanted)] ?? 0
  const nowMs = Math.floor(at('nowUs') / 1_000)
  const waits = { transactional: at('single'), campaign: at('prioritized') + at('inChunks') }
  const since = [waitsSince(head, history), waitsSince(headOfCampaigns, historyOfCampaigns), at('chunkStartedAt')]
  const known = since.filter((ms) => ms !== undefined && ms > 0) as number[]
  const ratePerS = Number(rate ?? 0)
  return {
    ...{ lane, nowMs, account: Number(account), name: name || (number ?? '') },
    waiting: waits,
    oldestSinceMs: known.length === 0 ? undefined : Math.min(...known),
    head: head || headOfCampaigns,
    inFlight: at('sending'),
    unconfirmed: Math.max(0, at('inDoubt') - at('sending')),
    deadLetters: at('deadLetters'),
    rate: ratePerS,
    isPaused: at('paused') === 1,
    pausedFor: pausedFor ?? '',
    pausedBy: pausedBy ?? '',
    isLimited: at('lastSlotUs') + paceOf(ratePerS || 1).gapUs > at('nowUs'),
    cooldown: cooldownOf(at('cooldownUntil'), nowMs, cooldownReason),
    paceUsed: paceUsed(at('slots'), at('nowUs') - at('firstSlotUs'), ratePerS),
    counts: counts.split(';'),
    campaigns: campaigns === '' ? [] : campaigns.split(' ').map(Number),
  }
}

function waitsSince(job: string, history: string): number | undefined {
  const id = parseMessageId(job)
  if (id === undefined) return undefined
  const acceptedAt = acceptedAtMs(id.ulid)
  if (history === '') return acceptedAt
  return readHistory(history, acceptedAt).findLast(({ code }) => code === 'q')?.atMs ?? acceptedAt
}

function cooldownOf(untilMs: number, nowMs: number, reason: string): LiveLane['cooldown'] {
  if (untilMs <= nowMs) return undefined
  const at = reason.indexOf('|')
  return { untilMs, code: reason.slice(0, Math.max(0, at)), sentence: masked(reason.slice(at + 1)) }
}

/** Slots reserved of those that there were in the time that the list of slots covers. */
function paceUsed(slots: number, coveredUs: number, rate: number): number {
  if (slots === 0 || rate === 0) return 0
  // Slots are reserved a moment ahead, so all of a short list may lie in the future.
  return slots / (Math.max(coveredUs / 1_000_000, 1 / rate) * rate)
}
