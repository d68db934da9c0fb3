// The pace of a lane in numbers. Every request leaves in a slot of its own, which the claim reserves in Redis
// (messages/store/scripts/message-pace.lua); BullMQ's limit only keeps workers from fetching much more than may leave.
//
// Slots are `gapUs` apart, and a request may leave up to `lateMs` after its slot, whoever stalls. So that no 10 s hold more
// than the rate, the gap is longer than the rate asks for by what a request may be late, in 10 s: 99.5 % of the rate at
// full load. Slots that nobody claimed in time, as while Redis or all workers stood still, are made up for within a window
// of 5 s: the slots that follow are closer together, by 3 %, until the window holds as many as it may.
//
// What a second can hold at most is (1 s + `lateMs`) / `closestUs`. From 500 a second on that is 4.8 % more than the rate,
// whatever stalls: a request may be 20 ms late there instead of 50. Its window is 10 s where the list of slots stays short
// enough, so that it makes up for all of a stall that is twice as long.

/** How a lane is paced. */
export interface Pace {
  /** µs from one slot to the next. */
  gapUs: number
  /** The same while the lane makes up for slots that were lost. */
  closestUs: number
  /** So many slots never take less time than as many gaps. */
  window: number
  /**
   * How far ahead of its slot a message may be claimed (µs). Claims must be ahead, or slots would pass unused; what a
   * campaign has ahead is what a transactional message waits for, so campaign messages are claimed later.
   */
  aheadUs: { transactional: number; campaign: number }
  /** A request that is later than this needs another slot; infinite on a lane that is too fast for it to matter. */
  lateMs: number
  /** So long a worker holds a message that may not be claimed yet before it goes back to its lane (worker/claim-gate.ts). */
  heldMs: number
}

/** Below this rate a second holds so few slots that 50 ms of leeway, or 3 % more, would let one too many in. */
const SLOW_A_SECOND = 20
/**
 * From this rate on, messages that are too early wait in their worker: it fetches the next one when one ends, and would
 * have nothing in hand to claim when all of them went back. Below, too many would wait before a transactional one.
 */
const FAST_A_SECOND = 500
/** Longer than all that three workers have in hand takes to leave at 1,000 a second. */
const HELD_MS = 300
/** From this rate on the list of slots of 5 s would be long, and half a per cent more or less does not matter. */
const SHORT_WINDOW_A_SECOND = 2_000
/** Up to this rate a window of a fast lane is 10 s. */
const LONG_WINDOW_A_SECOND = 1_000
/**
 * From this rate on, all that workers can have in hand is less than a tenth of a second's worth, so that no stall can
 * bunch up more; and a machine that is busy with so many is always late.
 */
const NEVER_LATE_A_SECOND = 5_000
const MOST_IN_WINDOW = 10_000

/**
 * Of so many ms, how many are leeway for what leaves late; how late that may be; and by how much closer together the slots
 * are that make up for lost ones.
 */
type Timing = [spanMs: number, leewayMs: number, lateMs: number, closer: number]
/** Of 10 a second, 11 fit into one when clocks are translated a millisecond or two wrong. */
const SLOW: Timing = [1_000, 12.5, 10, 1.25]
const STEADY: Timing = [10_000, 50, 50, 1.03]
const FAST: Timing = [10_000, 20, 20, 1.03]

/** How long a window is. */
function windowSeconds(ratePerSecond: number): number {
  if (ratePerSecond < SLOW_A_SECOND || ratePerSecond > SHORT_WINDOW_A_SECOND) return 1
  return ratePerSecond >= FAST_A_SECOND && ratePerSecond <= LONG_WINDOW_A_SECOND ? 10 : 5
}

/** The slots of a lane of so many messages per second. */
export function paceOf(ratePerSecond: number): Pace {
  const isSlow = ratePerSecond < SLOW_A_SECOND
  const isFast = ratePerSecond >= FAST_A_SECOND
  const [spanMs, leewayMs, lateMs, closer] = isSlow ? SLOW : isFast ? FAST : STEADY
  // Ten seconds must be whole windows, or the rest of them could be denser than the rate.
  const window = Number.isInteger(ratePerSecond)
    ? Math.min(ratePerSecond * windowSeconds(ratePerSecond), MOST_IN_WINDOW)
    : 1
  // A slow lane loses what it claims too late. A fast one is ahead by as long as Redis takes to answer, besides.
  const transactionalMs = isFast ? 60 : 100
  const campaignMs = isSlow ? 50 : 30
  const gapUs = ((spanMs + leewayMs) / spanMs) * (1_000_000 / ratePerSecond)
  return {
    gapUs,
    closestUs: window === 1 ? gapUs : gapUs / closer,
    window,
    aheadUs: { transactional: transactionalMs * 1_000, campaign: campaignMs * 1_000 },
    lateMs: ratePerSecond < NEVER_LATE_A_SECOND ? lateMs : Number.POSITIVE_INFINITY,
    heldMs: isFast ? HELD_MS : 0,
  }
}

/**
 * So much faster than the slots jobs are fetched, so that claims stay ahead of them although BullMQ begins each window
 * late: by a millisecond on an idle machine, by as long as a window on a crowded one. What is fetched too early goes
 * back, and nothing is fetched until half of what may be ahead has left.
 */
const AHEAD_OF_PACE = 2
const WINDOW_SECONDS = 0.03
/** Where messages wait in their workers, their number is what limits them. This only keeps a fault from running wild. */
const FAR_AHEAD_OF_PACE = 10

/** A rate as BullMQ's global limit: windows of about 30 ms, the longest that a transactional message waits to be fetched. */
export function flowOf(ratePerSecond: number): { max: number; durationMs: number } {
  const times = ratePerSecond < FAST_A_SECOND ? AHEAD_OF_PACE : FAR_AHEAD_OF_PACE
  const seconds = ratePerSecond < FAST_A_SECOND ? WINDOW_SECONDS : WINDOW_SECONDS * FAR_AHEAD_OF_PACE
  const max = Math.max(1, Math.ceil(ratePerSecond * seconds))
  return { max, durationMs: Math.max(1, Math.floor((max / (ratePerSecond * times)) * 1_000)) }
}
