// How much of a campaign may stand on its lane: as much as the lane sends in the next seconds, shared by the campaigns
// that run on it. A short queue is what keeps Redis small and a pause quick, and equal shares of it leave each campaign
// something to send whenever its turn comes (queue/lane/scripts/chunk-round-robin.lua).

/** Long enough that the lane does not run dry while a dead worker's fan-out is taken over. */
const SECONDS_AHEAD = 2
const LEAST = 50
/** Of all campaigns of one lane: what stands there is dropped by a pause and gone over again by a resume. */
const MOST = 5_000

/** Messages of one campaign that may wait on a lane of `rate` per second on which `running` campaigns run. */
export function windowOf(rate: number, running: number): number {
  return Math.max(LEAST, Math.floor(Math.min(rate * SECONDS_AHEAD, MOST) / Math.max(1, running)))
}

/** The most that can ever wait on a lane from one campaign. */
export const WIDEST_WINDOW = Math.max(LEAST, MOST)

/**
 * What one worker takes up at once: short enough that campaigns take turns several times a second, that others find work,
 * and that a worker that dies with it delays little.
 */
const CHUNK_SECONDS = 0.25
/** The same where campaigns share the lane: by as much as workers have in hand, their turns are uneven. */
const SHARED_CHUNK_SECONDS = 0.125
/**
 * Most recipients of one chunk, however fast its lane is. What a chunk takes before its first message leaves, 25 ms of
 * answers from Redis on a busy one, is shared by them: with 250 a worker that could send more stood idle for a fifth of
 * the time.
 */
export const MOST_IN_CHUNK = 500

/** From this rate on a chunk leaves sooner than Redis has answered all that the next one asks before it begins. */
const FAST_A_SECOND = 1_000

/**
 * Chunks of a lane that one process has in hand: others are claimed from while one waits for an answer, or for the last
 * of its messages. What is in hand makes the turns of campaigns uneven: on a lane of 80 a second that two share, each
 * chunk more is 10 of 400 messages in 10 s. On a fast lane three came to 1.32 times the rate of before and two to 1.19
 * in one run of the bench; five were no better.
 */
export const chunksAtOnce = (rate: number): number => (rate >= FAST_A_SECOND ? 3 : 2)

/** A window holds several chunks, so that the next one waits when one has been taken up. */
const CHUNKS_IN_WINDOW = 4

/** Recipients of a chunk of a campaign, one of `running`, on a lane of `rate` per second, or held to that. */
export function chunkOf(rate: number, running = 1): number {
  const most = Math.min(MOST_IN_CHUNK, Math.ceil(windowOf(rate, running) / CHUNKS_IN_WINDOW))
  const seconds = running > 1 ? SHARED_CHUNK_SECONDS : CHUNK_SECONDS
  return Math.min(most, Math.max(1, Math.floor(rate * seconds)))
}

/** A campaign with nothing to feed is parked for so long at first; each time that nothing has moved meanwhile doubles it. */
const FIRST_PARK_MS = 250
/** Of all that stand still on a lane, fewer than one in so many ms is looked at, from the first time on. */
const PARKED_EACH_MS = 50
export const MOST_PARK_MS = 60_000

/**
 * How long (ms) a campaign with nothing to feed is parked, one of `running` on its lane, after it was parked for `beforeMs`.
 * A worker that takes a message of it wakes it before; the time is for wakes that are lost.
 */
export function parkMs(beforeMs: number, running: number): number {
  return Math.min(MOST_PARK_MS, Math.max(FIRST_PARK_MS, running * PARKED_EACH_MS, 2 * beforeMs))
}

/** A campaign is never held below this: a message each two seconds shows when the throttling is over. */
const SLOWEST = 0.5
/** Of the rate at which the provider threw messages back, so much is tried next. */
const BACK_OFF = 0.5
/** Of its pace, a campaign wins so much back each second. */
const RECOVERY_PER_SECOND = 0.05

/**
 * The pace of a campaign on a lane that the provider throttles, messages per second; undefined: as fast as the lane
 * goes. Halved when the provider has thrown a message back, won back slowly, so that it settles below what the provider
 * takes and transactional messages, which are not held back, keep the lane.
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

// How many recipients a fan-out may put on the lane in its next round. What it has put there and nobody has taken up yet
// is known only roughly (a pause drops some, two fan-outs may overlap for a moment), so it is counted from what was put
// and what was taken up, and never believed to be more than stands on the lane at all.

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

// Measures how fast a figure grows, over the last few seconds.

const OVER_MS = 5_000

/** A meter that has not seen a figure. Feed it a counter that only grows, with times in ms. */
export function createMeter() {
  let points: { atMs: number; figure: number }[] = []
  return {
    /** Takes note of the figure and answers its growth per second; 0 before there is something to compare with. */
    measure(figure: number, atMs: number): number {
      const [oldest] = points
      points.push({ atMs, figure })
      // One point older than the span stays, so that a slow lane is measured over what it needs.
      const firstWithin = points.findIndex((point) => atMs - point.atMs <= OVER_MS)
      if (firstWithin > 1) points = points.slice(firstWithin - 1)
      if (oldest === undefined || atMs <= oldest.atMs) return 0
      return Math.max(0, ((figure - oldest.figure) * 1_000) / (atMs - oldest.atMs))
    },
  }
}
