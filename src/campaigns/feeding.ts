// How many recipients a fan-out may put on the lane in its next round. What it has put there and nobody has taken up yet
// is known only roughly (a pause drops some, two fan-outs may overlap for a moment), so it is counted from what was put
// and what was taken up, and never believed to be more than stands on the lane at all.
import { nextPace, windowOf } from './pace.ts'

/** What a round sees. */
export interface Seen {
  nowMs: number
  /** Place of the recipient that is fed next. */
  next: number
  /** Messages of the campaign that were ever taken up. */
  taken: number
  /** Messages that can stand on the lane at most, in jobs of their own and in chunks. */
  backlog: number
  running: number
  /** How often the lane was throttled, ever. */
  throttled: number
  /** Messages per second that ended lately. */
  measured: number
  /** Messages per second that the lane may send. */
  laneRate: number
}

/** The provider's refusals come in bursts of what was in flight: those within a second are one. */
const REACT_EVERY_MS = 1_000

export type Feeding = ReturnType<typeof createFeeding>

/** `pace` is what throttling has left of the pace so far. */
export function createFeeding(pace: number | undefined) {
  let waiting: number | undefined
  let before: Seen | undefined
  let reactedAt = 0
  let allowance = 0

  return {
    pace: (): number | undefined => pace,

    /** A new turn begins: somebody else may have fed meanwhile, so what waits is counted again. */
    begin(): void {
      waiting = undefined
    },

    /** How long (ms) throttling holds the next recipient back; undefined when it does not. */
    heldForMs: (): number | undefined =>
      pace === undefined || allowance >= 1 ? undefined : ((1 - allowance) * 1_000) / pace,

    /** Recipients that may be fed now. */
    room(seen: Seen): number {
      const taken = before ? seen.taken - before.taken : 0
      waiting = waiting === undefined ? seen.next - seen.taken : waiting - taken
      waiting = Math.max(0, Math.min(waiting, seen.backlog))
      const elapsedMs = before ? seen.nowMs - before.nowMs : 0
      const isThrottled = before !== undefined && seen.throttled > before.throttled
      const reacts = isThrottled && seen.nowMs - reactedAt >= REACT_EVERY_MS
      if (reacts) reactedAt = seen.nowMs
      pace = nextPace(pace, { throttled: reacts, measured: seen.measured, laneRate: seen.laneRate, elapsedMs })
      before = seen
      const room = Math.max(0, windowOf(pace ?? seen.laneRate, seen.running) - waiting)
      if (pace === undefined) {
        allowance = 0
        return room
      }
      // Held back: no more than a second's worth at once.
      allowance = Math.min(allowance + (pace * elapsedMs) / 1_000, Math.max(1, pace))
      return Math.min(room, Math.floor(allowance))
    },

    /** So many were put on the lane. */
    fed(count: number): void {
      waiting = (waiting ?? 0) + count
      if (pace !== undefined) allowance = Math.max(0, allowance - count)
    },
  }
}
