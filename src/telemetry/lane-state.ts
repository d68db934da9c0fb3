// Why a lane does not send, decided in this one place from its figures. Pure: the figures are read by
// live/snapshots.ts, and shown by the console and `top` in these words.

import { spanText } from './durations.ts'

/** What a lane can be in, what needs a person first. */
export const LANE_STATES = [
  'stuck',
  'no_worker',
  'redis_full',
  'paused',
  'cooldown',
  'resting',
  'waiting_for_pace',
  'sending',
  'idle',
] as const
export type LaneState = (typeof LANE_STATES)[number]

/** What is known of a lane at one moment. */
export interface LaneFacts {
  /** Messages that wait for their turn. */
  waiting: number
  inFlight: number
  /** Messages per second that may leave. */
  rate: number
  isPaused: boolean
  /** Why and by whom, if given. */
  pausedFor: string
  pausedBy: string
  /** Since when it is paused (epoch ms); 0 when that is not known. */
  pausedAt: number
  /** Code and sentence are empty when they are not known. */
  cooldown: { until: number; code: string; sentence: string } | undefined
  /** What campaigns wait for by WhatsApp's own rules (epoch ms). */
  resting: { until: number; sentence: string } | undefined
  /** Of those that wait, messages that no campaign sends: they wait for none of these rules. */
  waitingFirst: number
  workers: number
  isRedisFull: boolean
  /** How long the same message has been next although nothing was known to hold the lane. */
  sameHeadMs: number
  /** Slots that were reserved lately, of those that there were: 1 and more, the pace is what holds it. */
  paceUsed: number
}

/** The description of a lane. */
export interface LaneDescription {
  state: LaneState
  reason: string | null
  by: string | null
  /** Since when it is paused, as an ISO time, where that is known. */
  since: string | null
  /** When its cooldown ends, as an ISO time. */
  until: string | null
}

/** From so much of its pace on, a lane waits for its pace. Slots are 0.5 % apart from the rate, and reserved in bursts. */
const PACE_USED_UP = 0.9
/** A message that is next for longer is not just slow: as long as the watchdog waits, see worker/recovery/sweep.ts. */
const STUCK_MS = 30_000
/** A lane that sends less than once in this many seconds may be silent for so many of its turns. */
const TURNS = 3

/** The first of the reasons that holds. */
export function laneState(lane: LaneFacts): LaneDescription {
  const stateOf = (state: LaneState, reason: string | null = null): LaneDescription => ({
    ...{ state, reason },
    ...{ by: null, since: null, until: null },
  })
  if (lane.isPaused) {
    const since = lane.pausedAt === 0 ? null : new Date(lane.pausedAt).toISOString()
    return { ...stateOf('paused', lane.pausedFor || null), by: lane.pausedBy || null, since }
  }
  if (lane.waiting > 0 && lane.isRedisFull) {
    return stateOf('redis_full', 'Redis has used up its memory and takes no claim; nothing is lost.')
  }
  if (lane.cooldown) {
    const { until, code, sentence } = lane.cooldown
    const why = [sentence, code && `(${code})`].filter(Boolean).join(' ')
    return { ...stateOf('cooldown', why || null), until: new Date(until).toISOString() }
  }
  if (lane.waiting > 0 && lane.workers === 0) return stateOf('no_worker', 'No worker has said lately that it is alive.')
  if (lane.resting && lane.waiting > 0 && lane.waitingFirst === 0) {
    return { ...stateOf('resting', lane.resting.sentence), until: new Date(lane.resting.until).toISOString() }
  }
  if (lane.waiting > 0 && lane.inFlight === 0 && lane.sameHeadMs > silentMs(lane.rate)) {
    const span = spanText(lane.sameHeadMs / 1_000)
    return stateOf('stuck', `The same message has been next for ${span} although nothing holds the lane.`)
  }
  if (lane.waiting > 0 && lane.paceUsed >= PACE_USED_UP) {
    return stateOf('waiting_for_pace', `All of its pace is used: ${shown(lane.rate)}.`)
  }
  return stateOf(lane.waiting > 0 || lane.inFlight > 0 ? 'sending' : 'idle')
}

/** Seconds until all that waits has left, at the lane's pace; null when none waits or there is no pace. */
export const drainSeconds = ({ waiting, rate }: Pick<LaneFacts, 'waiting' | 'rate'>): number | null =>
  waiting === 0 || rate === 0 ? null : Math.ceil(waiting / rate)

/**
 * Seconds until all that waits has left, at the rate at which the lane sends now; at its pace where nothing was sent
 * lately, and never sooner than its pace allows. A cooldown or a rest comes first, and the rate after it is unknown. Null when none
 * waits or there is no pace.
 */
export function secondsToGo(lane: ToGo, nowMs: number): { seconds: number; at: 'this rate' | 'its full pace' } | null {
  const { drain_s: drain, sent_per_s: sent, waiting, until } = lane
  if (drain === null) return null
  if (until !== null) {
    const cooling = Math.max(0, Math.ceil((Date.parse(until) - nowMs) / 1_000))
    return { seconds: cooling + drain, at: 'its full pace' }
  }
  if (sent <= 0 || lane.state === 'paused') return { seconds: drain, at: 'its full pace' }
  return { seconds: Math.max(drain, Math.ceil((waiting.transactional + waiting.campaign) / sent)), at: 'this rate' }
}

interface ToGo {
  state: LaneState
  waiting: { transactional: number; campaign: number }
  drain_s: number | null
  sent_per_s: number
  /** When its cooldown ends, or the rest of its campaigns. */
  until: string | null
}

const silentMs = (rate: number): number => Math.max(STUCK_MS, (TURNS / Math.max(rate, 0.001)) * 1_000)

const shown = (rate: number): string =>
  rate >= 1 ? `${Number(rate.toFixed(2))} messages a second` : `one message in ${Number((1 / rate).toFixed(1))} s`

/** Orders lanes for a person: trouble first, then what waits longest. `waiting` distinguishes a lane nobody needs. */
export function byTrouble(one: Ranked, other: Ranked): number {
  return rankOf(one) - rankOf(other) || (other.oldest_s ?? -1) - (one.oldest_s ?? -1) || one.sender - other.sender
}

interface Ranked {
  sender: number
  state: LaneState
  oldest_s: number | null
}

const rankOf = ({ state }: Ranked): number => LANE_STATES.indexOf(state)
