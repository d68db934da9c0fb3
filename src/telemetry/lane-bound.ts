// What the workers that are alive say of the lanes that they serve, and what bounds a lane: why no more messages of it
// are in flight now. Decided in this one place; shown by metrics, console and `top`. Pure.
import type { KnownWorker, WorkerBound } from '../redis/heartbeats.ts'
import type { LaneState } from './lane-state.ts'

export const LANE_BOUNDS = ['pause', 'cooldown', 'rule', 'pace', 'memory', 'share', 'answer_time', 'nothing'] as const
export type LaneBound = (typeof LANE_BOUNDS)[number]

/** A lane as all its workers together have it. */
export interface Served {
  /** Messages that are claimed or in flight: the sum. */
  inFlight: number
  /**
   * How long the provider takes to answer, in the last 30 to 60 s (seconds): of each quantile the greatest that a worker
   * has. Undefined without an answer in that time.
   */
  answerSeconds: { p50: number; p99: number } | undefined
  bound: WorkerBound | undefined
}

/** By lane. Lanes that no worker has open are not in it. */
export function servedLanes(workers: readonly KnownWorker[]): Map<number, Served> {
  const lanes = new Map<number, Served>()
  for (const { facts } of workers) {
    for (const { lane, inFlight, p50Ms, p99Ms, bound } of facts?.serves ?? []) {
      const answerSeconds =
        p50Ms === undefined || p99Ms === undefined ? undefined : { p50: p50Ms / 1_000, p99: p99Ms / 1_000 }
      lanes.set(lane, together(lanes.get(lane), { inFlight, answerSeconds, bound }))
    }
  }
  return lanes
}

/** Two of them as one. */
export function together(one: Served | undefined, other: Served): Served {
  if (one === undefined) return other
  return {
    inFlight: one.inFlight + other.inFlight,
    answerSeconds: slowest(one.answerSeconds, other.answerSeconds),
    bound: boundOfWorkers([one.bound, other.bound]),
  }
}

function slowest(one: Served['answerSeconds'], other: Served['answerSeconds']): Served['answerSeconds'] {
  if (one === undefined || other === undefined) return one ?? other
  return { p50: Math.max(one.p50, other.p50), p99: Math.max(one.p99, other.p99) }
}

/**
 * Of what several workers say of one lane, the first. The pace comes first because all of them share it: when one has
 * room and waits for slots, the others need no more room.
 */
const ORDER: readonly WorkerBound[] = ['pace', 'memory', 'share', 'answer_time']

const boundOfWorkers = (said: readonly (WorkerBound | undefined)[]): WorkerBound | undefined =>
  ORDER.find((bound) => said.includes(bound))

/**
 * `waiting` counts all that could leave now. `isResting`: only campaigns have something to send, and wait for a rule of
 * WhatsApp. `isAtPace`: all slots of the last seconds were used.
 */
export function boundOf(lane: {
  isPaused: boolean
  isCoolingDown: boolean
  isResting: boolean
  waiting: number
  isAtPace: boolean
  byWorkers: WorkerBound | undefined
}): LaneBound {
  if (lane.isPaused) return 'pause'
  if (lane.isCoolingDown) return 'cooldown'
  if (lane.waiting === 0) return 'nothing'
  if (lane.isResting) return 'rule'
  return lane.isAtPace ? 'pace' : (lane.byWorkers ?? 'nothing')
}

/** It could send more with more in flight. For the other bounds see the state of the lane. */
export const isShortOfRoom = ({ bound }: { bound: LaneBound }): boolean =>
  bound === 'memory' || bound === 'share' || bound === 'answer_time'

const SENTENCES: Readonly<Record<Exclude<LaneBound, 'nothing'>, string>> = {
  pause: 'It is paused: nothing leaves until somebody resumes it.',
  cooldown: 'It is in a cooldown: nothing leaves until that ends.',
  rule: "Its campaigns wait for one of WhatsApp's own rules: nothing of them leaves until that allows it.",
  pace: 'It sends as many messages a second as its rate allows.',
  memory: 'Its worker has as many messages in flight as LANEWAY_MAX_IN_FLIGHT allows: add a worker.',
  share: 'Its worker is busy with several lanes, and each has an equal part of LANEWAY_MAX_IN_FLIGHT: add a worker.',
  answer_time:
    'The provider answers more slowly than before: twice what the rate needs at the usual answer time is in flight.',
}

/** States in which something else than pace and room keeps a lane from sending; the state names it. */
const ELSEWHERE: readonly LaneState[] = ['stuck', 'no_worker', 'redis_full']

/** What bounds it, for a person. `waiting`: messages that wait. */
export function boundSentence({
  bound,
  state,
  waiting,
}: {
  bound: LaneBound
  state: LaneState
  waiting: number
}): string {
  if (bound !== 'nothing') return SENTENCES[bound]
  if (waiting === 0) return 'No message waits.'
  return ELSEWHERE.includes(state)
    ? 'Neither its rate nor answer times: the state of the lane says why it does not send.'
    : 'Neither its rate nor answer times: what waits is taken up as it comes.'
}
