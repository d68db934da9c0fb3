// Serves one lane in one process, by time and not message by message: the messages that its pace lets out within the next
// moment are read and claimed in one step, and answered ones are settled in one step (lanes/messages/steps.ts). Where a message
// can be, and what is left of it when the process dies there:
//
//   waiting    on its lane in Redis, as a job or in a chunk   as it was
//   read       here, before its claim                         as it was: reading takes nothing
//   claimed    here, waits for its slot (lane-slots.ts)        `sending`: the sweep flags it, then its policy decides
//   in flight  the request is under way                       the same; evidence of the provider settles it
//   answered   waits to be settled with others                the same
//
// So a kill leaves in doubt the messages in flight, those answered but not settled (up to three times SETTLE_MS,
// lanes/messages/steps.ts), and at most AHEAD_MS of the lane's pace, or AHEAD_GAPS messages.
import type { InFlightLimit } from './in-flight-limit.ts'
import type { Take, Taken } from './take.ts'

/**
 * How far ahead of their slots messages are claimed. Those of campaigns less: a transactional message waits behind what a
 * campaign has claimed, and the check whether a recipient has opted out must still be valid when the message leaves
 * (LOOK_GOOD_FOR_MS in people/opt-outs/opt-out-hold.ts). All less than a claim accepts, see `aheadUs` in model/messages/pace.ts.
 */
const AHEAD_MS = 250
const CAMPAIGN_AHEAD_MS = 150
/**
 * A lane of a few messages a second would need a step for each of them, so its transactional messages are claimed this
 * many gaps ahead, up to SLOW_AHEAD_MS. Slow steps do no harm then: a late one loses no slot.
 */
const AHEAD_GAPS = 4
const SLOW_AHEAD_MS = 480
/**
 * The next step is due when the messages claimed ahead are down to TIMES_SLOW times what a step takes lately, at least
 * LEAST_LEFT and at most MOST_LEFT of the whole. Each step costs Redis as much as several messages, and a slot that
 * nobody claims in time is lost for seconds.
 */
const TIMES_SLOW = 3
const LEAST_LEFT = 1 / 4
const MOST_LEFT = 3 / 5
/** The slowest step fades by this factor with each later one, over some twenty of them. */
const SLOW_KEPT = 0.95
/**
 * A lane that has more to send and could not claim in time makes up for so much of the past at once. Slots are then used
 * late, within the limits of its pace (pace-gate.ts); anything older is made up for over seconds.
 */
const MOST_PAST_MS = 300
/** Lanes are read only at multiples of this, all at the same times: their steps leave in one write to Redis. */
const TICK_MS = 10
/** Most messages in one step. */
const MOST = 100
/**
 * A lane short of room waits until it can take this many at once, or an eighth of what it has in flight: each step
 * costs as much as several messages.
 */
const WORTH = 16
/** How often a woken lane is read for transactional messages although all its slots are taken. */
const WOKEN_MS = 10
/**
 * Longest that a lane in a cooldown does not read: a person may end it, or change the pace. It then reads one message.
 */
const MOST_HELD_MS = 1_000
/**
 * A wait of this long or longer is a cooldown. The wait for a slot that is too far ahead is shorter, except on a lane that
 * sends one message at a time.
 */
const COOLDOWN_MS = 500
/** Redis is away or full: the lane is read again after this. */
const AWAY_MS = 1_000

/** One lane as this process serves it. */
export interface LaneLoop {
  /** There may be something new. */
  wake(): void
  /** Claims nothing for this long. */
  hold(ms: number): void
  /** A place is free. */
  freed(): void
  /** When a message was last taken or in flight (`performance.now()`). */
  lastWorkAt(): number
  stop(): void
}

/** Serves a lane until stopped. `take` claims and sends; it rejects when Redis is away. `gapMs`: between two slots. */
export function createLaneLoop(deps: {
  inFlightLimit: Pick<InFlightLimit, 'available' | 'running'>
  latestSlotAt: () => number
  gapMs: () => number
  take: (next: Take) => Promise<Taken>
  failed: (error: unknown) => void
}): LaneLoop {
  const { inFlightLimit } = deps
  let isStopped = false
  let isTaking = false
  /** It was woken: there may be jobs that it has not read. */
  let isWoken = true
  let isWokenAgain = false
  /** Something waits that could not be taken yet. */
  let hasMore = false
  /** A campaign has the slots of the next moment: a transactional message that comes takes one of them. */
  let servesCampaign = true
  let heldUntil = 0
  /** Until then only transactional messages are taken. */
  let restUntil = 0
  /** The latest read found it in a cooldown. */
  let isHeld = false
  let wokenReadAt = Number.NEGATIVE_INFINITY
  let lastWorkAt = performance.now()
  /** Messages wait, but there is no free place. */
  let lacksRoom = false
  /** The recent time from when a step was due until its messages were claimed. */
  let slowMs = 0
  let timer: NodeJS.Timeout | undefined
  let timerAt = Number.POSITIVE_INFINITY

  function lookAt(at: number): void {
    if (isStopped || at >= timerAt) return
    clearTimeout(timer)
    timerAt = at
    const tick = Math.ceil(at / TICK_MS) * TICK_MS
    timer = setTimeout(look, Math.max(0, tick - performance.now()))
  }

  /** What to take now, or how long to wait until taking is worth it; undefined while no place is free. */
  function nextTake(now: number): Take | { waitMs: number } | undefined {
    const gapMs = deps.gapMs()
    const latestAt = deps.latestSlotAt()
    // Time in which the lane was held, or had nothing to send, is not made up for.
    const isLate = hasMore && Number.isFinite(latestAt)
    const pastMs = isLate ? Math.max(0, Math.min(MOST_PAST_MS, now - Math.max(latestAt, heldUntil))) : 0
    // Below 0 if slots have passed that nobody has claimed.
    const aheadMs = pastMs > 0 ? -pastMs : Math.max(0, latestAt - now)
    const left = inFlightLimit.available()
    if (left === 0) return undefined
    const gapsMs = Math.min(SLOW_AHEAD_MS, AHEAD_GAPS * gapMs)
    const mostAheadMs = servesCampaign ? CAMPAIGN_AHEAD_MS : Math.max(AHEAD_MS, gapsMs)
    const paced = Math.floor((mostAheadMs - aheadMs) / gapMs) + (aheadMs <= 0 ? 1 : 0)
    const neededMs = mostAheadMs > AHEAD_MS ? 0 : TIMES_SLOW * slowMs
    const leftMs = Math.min(mostAheadMs * MOST_LEFT, Math.max(mostAheadMs * LEAST_LEFT, neededMs))
    if (aheadMs > leftMs || paced < 1) {
      const refillMs = Math.max(TICK_MS, aheadMs - leftMs, paced < 1 ? aheadMs + gapMs - mostAheadMs : 0)
      if (!(isWoken && servesCampaign)) return { waitMs: refillMs }
      const againMs = wokenReadAt + WOKEN_MS - now
      if (againMs > 0) return { waitMs: Math.min(againMs, refillMs) }
      wokenReadAt = now
      return { most: Math.min(left, WORTH), firstOnly: true, pastMs }
    }
    if (restUntil > now)
      return isWoken ? { most: Math.min(left, paced, MOST), firstOnly: true, pastMs } : { waitMs: restUntil - now }
    if (isHeld) return { most: 1, firstOnly: false, pastMs }
    const most = Math.min(left, paced, MOST)
    // Places become free one by one.
    const isWorth = most >= Math.min(paced, WORTH, Math.max(1, inFlightLimit.running() / 8))
    return isWorth || inFlightLimit.running() === 0 ? { most, firstOnly: false, pastMs } : undefined
  }

  function look(): void {
    const now = performance.now()
    const dueAt = Math.min(now, timerAt)
    clearTimeout(timer)
    timer = undefined
    timerAt = Number.POSITIVE_INFINITY
    if (isStopped || isTaking || !(isWoken || hasMore)) return
    const next = heldUntil > now ? { waitMs: heldUntil - now } : nextTake(now)
    lacksRoom = next === undefined
    // The next place that becomes free starts a look.
    if (next === undefined) return
    if ('waitMs' in next) {
      lookAt(now + next.waitMs)
    } else {
      isTaking = true
      void take(next, dueAt)
    }
  }

  async function take(next: Take, dueAt: number): Promise<void> {
    const wasMore = hasMore
    if (!next.firstOnly) isWoken = false
    isWokenAgain = false
    try {
      const { hasMore: isMore, hasCampaign, heldMs, isPaused, dueInMs, isFull, campaignsRestMs } = await deps.take(next)
      slowMs = Math.max(slowMs * SLOW_KEPT, performance.now() - dueAt)
      if (!next.firstOnly) servesCampaign = hasCampaign
      hasMore = next.firstOnly ? wasMore || isWoken : isMore
      if (next.firstOnly) isWoken = restUntil > performance.now() && isFull === true
      if (campaignsRestMs !== undefined) {
        restUntil = performance.now() + campaignsRestMs
        isWoken = true
        hasMore = true
      }
      if (isPaused) hasMore = false
      isHeld = heldMs !== undefined && heldMs >= COOLDOWN_MS
      if (heldMs !== undefined) hold(heldMs)
      // A resume wakes the lane; until then what is due stays due.
      if (dueInMs !== undefined && !hasMore && !isPaused) {
        isWoken ||= dueInMs === 0
        if (dueInMs > 0) wakeIn(dueInMs)
      }
    } catch (error) {
      deps.failed(error)
      hasMore = true
      hold(AWAY_MS)
    } finally {
      isTaking = false
      isWoken ||= isWokenAgain
      if (isWoken || hasMore) look()
    }
  }

  let dueTimer: NodeJS.Timeout | undefined
  function wakeIn(ms: number): void {
    clearTimeout(dueTimer)
    // It may have been stopped while it was taking.
    if (isStopped) return
    // setTimeout takes no more than 2^31 ms; the sweep wakes lanes that are due as well.
    dueTimer = setTimeout(wake, Math.min(ms, 86_400_000))
  }

  function hold(ms: number): void {
    heldUntil = Math.max(heldUntil, performance.now() + Math.min(Math.max(1, ms), MOST_HELD_MS))
  }

  function wake(): void {
    isWoken = true
    isWokenAgain = true
    look()
  }

  return {
    wake,
    hold,
    freed: () => {
      lastWorkAt = performance.now()
      if (lacksRoom) look()
    },
    lastWorkAt: () => (inFlightLimit.running() > 0 ? performance.now() : lastWorkAt),
    stop: () => {
      isStopped = true
      clearTimeout(timer)
      clearTimeout(dueTimer)
    },
  }
}
