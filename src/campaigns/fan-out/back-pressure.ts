// Back-pressure: how many recipients a fan-out may put on its lane in its next round. How many still wait is known only roughly (a pause
// drops some, two fan-outs may overlap for a moment): those put there minus those claimed, and at most what is on the lane.
import { windowOf } from '../../model/campaigns/pace.ts'

/** A campaign is never slower than this: a message every two seconds shows when the throttling is over. */
const SLOWEST = 0.5
/** Share of the throttled rate that is tried next. */
const BACK_OFF = 0.5
/** Share of its pace that a campaign regains each second. */
const RECOVERY_PER_SECOND = 0.05

/**
 * The pace of a campaign on a lane that the provider throttles, messages per second; undefined: as fast as the lane
 * goes. Halved when the provider throttles, regained slowly, so that it settles below what the provider accepts and transactional
 * messages, which are not slowed, keep the lane.
 */
export function nextPace(
  pace: number | undefined,
  seen: { throttled: boolean; measured: number; laneRate: number; elapsedMs: number },
): number | undefined {
  if (seen.throttled) {
    const fastest = Math.min(pace ?? seen.laneRate, seen.measured > 0 ? seen.measured : seen.laneRate)
    return Math.max(SLOWEST, fastest * BACK_OFF)
  }
  if (pace === undefined) return undefined
  const recovered = pace * (1 + RECOVERY_PER_SECOND * (seen.elapsedMs / 1_000))
  return recovered >= seen.laneRate ? undefined : recovered
}

/** The figures of a round. */
export interface Seen {
  nowMs: number
  /** Place of the recipient that is fed next. */
  next: number
  /** Messages of the campaign that were ever claimed. */
  taken: number
  /** Messages on the lane, of any campaign or none: the most that can wait of this one. */
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

/** `pace`: the pace so far, as far as throttling has reduced it. */
export function createFeeding(pace: number | undefined) {
  let waiting: number | undefined
  let before: Seen | undefined
  let reactedAt = 0
  let allowance = 0

  return {
    pace: (): number | undefined => pace,

    /** A new slice begins: another worker may have fed meanwhile, so what waits is counted again. */
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

/** The window over which a figure's growth is measured. */
const OVER_MS = 5_000

/** Measures the growth of a counter that never decreases, with times in ms. */
export function createMeter() {
  let points: { atMs: number; figure: number }[] = []
  return {
    /** Adds the figure and returns its growth per second; 0 at first. */
    measure(figure: number, atMs: number): number {
      const [oldest] = points
      points.push({ atMs, figure })
      // Keep one point older than the window, so that a slow lane is measured over long enough.
      const firstWithin = points.findIndex((point) => atMs - point.atMs <= OVER_MS)
      if (firstWithin > 1) points = points.slice(firstWithin - 1)
      if (oldest === undefined || atMs <= oldest.atMs) return 0
      return Math.max(0, ((figure - oldest.figure) * 1_000) / (atMs - oldest.atMs))
    },
  }
}
