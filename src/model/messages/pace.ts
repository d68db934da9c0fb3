// The pace of a lane in numbers: slots, which the claim reserves in Redis (lanes/messages/scripts/message-pace.lua), and limits,
// which a worker keeps for the requests that it lets go (worker/sending/pace-gate.ts).
//
// Slots are `gapUs` apart, half a per cent more than the rate asks for, because a request on a shared lane may leave up to
// `lateMs` after its slot and no 10 s may hold more than the rate. Slots that nobody claimed in time, as while Redis or all workers
// stalled, are made up for within a window of 5 s: the slots that follow are closer together, by 3 %, until the window holds
// as many as it may. The window of a fast lane is 10 s where the list of slots stays short enough.
//
// A slot is a permit, not a timetable. A worker that serves its lane alone uses a slot that has passed as long as its limits
// allow: any ten seconds hold at most the rate, any second at most a tenth more. So a machine that is late costs the lane
// nothing. Where several workers share a lane, none of them has a record of what the others let go: each keeps the limits by its own
// slots, and a slot that has passed by more than `lateMs` is exchanged for another one.

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
  /** How late a request may be for its slot on a shared lane; infinite on a lane that is too fast for it to matter. */
  lateMs: number
  /** What may leave one worker: `most` requests in any stretch of `spanMs`. */
  limits: readonly PaceLimit[]
}

export interface PaceLimit {
  most: number
  spanMs: number
}

/**
 * A lane that has more to send and could not claim in time makes up for so much of the past at once (ms). Slots are then used late,
 * within the limits of its pace (worker/sending/pace-gate.ts); anything older is made up for over seconds.
 */
export const MOST_PAST_MS = 2_000
/**
 * Once slots of the past were claimed, nobody else has a slot of the lane for this long (ms): what is late leaves meanwhile, and no second
 * holds it besides slots of others.
 */
export const ALONE_MS = MOST_PAST_MS + 1_000
/**
 * Below this rate a second holds so few slots that one too many, which 50 ms of leeway may let in, is a quarter more and
 * above. From here on it may: on a busy machine a lane of 8 a second missed a slot in ten when it had 10 ms.
 */
const SLOW_A_SECOND = 5
/** From this rate on a request may be late by less. */
const FAST_A_SECOND = 500
/**
 * How far ahead of their slots workers claim messages (worker/sending/next-take.ts). The farther, the fewer steps, each of which costs
 * as much as several messages; but the check whether a recipient has opted out must still be valid when the message leaves
 * (people/opt-outs/check-validity.ts), and a kill leaves in doubt all that is claimed.
 */
export const AHEAD_MS = 340
/**
 * A claim further ahead of its slot is refused. For campaigns this is little more than workers claim ahead, so that an answer about
 * opt-outs from before the claim still counts when the message leaves (people/opt-outs/opt-out-hold.ts). Transactional messages may be claimed while a campaign has all slots of the next moment:
 * they leave in the first of these (worker/sending/lane-slots.ts).
 */
const MOST_CAMPAIGN_AHEAD_MS = AHEAD_MS + 30
const MOST_TRANSACTIONAL_AHEAD_MS = 500
/** From this rate on the list of slots of 5 s would be long, and half a per cent more or less does not matter. */
const SHORT_WINDOW_A_SECOND = 2_000
/** Up to this rate a window of a fast lane is 10 s. */
const LONG_WINDOW_A_SECOND = 1_000
/** From this rate on nothing is too late: a machine that is busy with so many always is. */
const NEVER_LATE_A_SECOND = 5_000
const MOST_IN_WINDOW = 10_000
/** Times the rate that a second may hold. */
const MOST_IN_A_SECOND = 1.1

/**
 * Of so many ms, how many are leeway for what leaves late; how late that may be; and by how much closer together the slots
 * are that make up for lost ones.
 */
type Timing = [spanMs: number, leewayMs: number, lateMs: number, closer: number]
/** Each leeway is longer than what may be late, since clocks are translated a millisecond or two wrong. */
const BY_SECOND: Timing = [1_000, 12.5, 10, 1.25]
const STEADY: Timing = [10_000, 55, 50, 1.03]
const FAST: Timing = [10_000, 25, 20, 1.03]

/** How long a window is. */
function windowSeconds(ratePerSecond: number): number {
  if (ratePerSecond > SHORT_WINDOW_A_SECOND) return 1
  return ratePerSecond >= FAST_A_SECOND && ratePerSecond <= LONG_WINDOW_A_SECOND ? 10 : 5
}

/**
 * The slots of a lane of so many messages per second. `isStrict`: no second holds more than the rate either, at any rate below
 * NEVER_LATE_A_SECOND, and the lane sends a hundredth less.
 */
export function paceOf(ratePerSecond: number, isStrict = false): Pace {
  // A slow lane is strict in any case: one too many would be a quarter more.
  const isBySecond = isStrict || ratePerSecond < SLOW_A_SECOND
  const isFast = ratePerSecond >= FAST_A_SECOND
  const [spanMs, leewayMs, lateMs, closer] = isBySecond ? BY_SECOND : isFast ? FAST : STEADY
  // Ten seconds must be a multiple of the window; a partial window could exceed the rate.
  const window = Number.isInteger(ratePerSecond)
    ? Math.min(ratePerSecond * (isBySecond ? 1 : windowSeconds(ratePerSecond)), MOST_IN_WINDOW)
    : 1
  const gapUs = ((spanMs + leewayMs) / spanMs) * (1_000_000 / ratePerSecond)
  return {
    gapUs,
    closestUs: window === 1 ? gapUs : gapUs / closer,
    window,
    aheadUs: { transactional: MOST_TRANSACTIONAL_AHEAD_MS * 1_000, campaign: MOST_CAMPAIGN_AHEAD_MS * 1_000 },
    lateMs: ratePerSecond < NEVER_LATE_A_SECOND ? lateMs : Number.POSITIVE_INFINITY,
    limits: ratePerSecond < NEVER_LATE_A_SECOND ? limitsOf(ratePerSecond, gapUs, isBySecond) : [],
  }
}

function limitsOf(rate: number, gapUs: number, isBySecond: boolean): PaceLimit[] {
  if (!Number.isInteger(rate)) return [{ most: 1, spanMs: gapUs / 1_000 }]
  const most = isBySecond ? rate : Math.max(rate + 1, Math.floor(rate * MOST_IN_A_SECOND))
  return [
    { most, spanMs: 1_000 },
    { most: 10 * rate, spanMs: 10_000 },
  ]
}
