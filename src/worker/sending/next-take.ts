// What a lane takes next in this process, and when: as far ahead as its pace goes, transactional messages before those of
// campaigns, and no sooner than it is worth a step. Pure; lane-loop.ts runs it.
import { AHEAD_MS, MOST_PAST_MS } from '../../model/messages/pace.ts'
import type { Take } from './take.ts'

/**
 * A lane of a few messages a second would need a step for each of them, so its transactional messages are claimed this
 * many gaps ahead, up to SLOW_AHEAD_MS. Slow steps do no harm then: a late one loses no slot.
 */
const AHEAD_GAPS = 4
const SLOW_AHEAD_MS = 480
/**
 * The next step is due when the messages claimed ahead are down to TIMES_TAKEN times what a step takes lately, at least
 * LEAST_LEFT and at most MOST_LEFT of the whole. Each step costs Redis as much as ten messages. A single step that is later
 * than that costs a lane nothing that one worker serves alone, which makes up for it at once; on a shared lane the slots that
 * nobody claims in time are lost for seconds.
 */
const TIMES_TAKEN = 3
const LEAST_LEFT = 1 / 4
const MOST_LEFT = 3 / 5
/** Lanes are read only at multiples of this, and at shared ticks (kernel/shared-ticks.ts) where they may be read a moment earlier. */
export const TICK_MS = 10
/** Most messages in one step. */
const MOST = 100
/**
 * A lane short of room waits until it can take this many at once, or an eighth of what it has in flight: each step
 * costs as much as several messages.
 */
export const WORTH = 16
/** How often a woken lane is read for transactional messages although all its slots are taken. */
export const WOKEN_MS = 10

/** The loop's state of its lane. Times are on the clock of `performance.now()`. */
export interface Known {
  /** It was woken: there may be jobs that it has not read. */
  isUnread: boolean
  /** Something waits that could not be taken yet. */
  hasMore: boolean
  /** A campaign has the slots of the next moment: a transactional message that comes takes one of them. */
  servesCampaign: boolean
  /** The latest step found the lane in a cooldown. */
  isCooling: boolean
  /** Nothing is claimed until then. */
  heldUntil: number
  /** Only transactional messages are taken until then. */
  campaignsRestUntil: number
  /** When transactional messages alone were read for the last time. */
  peekedAt: number
  /** What a step takes lately, from when it is due until its messages are claimed (ms). */
  takesMs: number
  /** The shortest that one took lately, from its beginning (ms). */
  quickMs: number
}

/** The lane at this moment. Times are on the clock of `performance.now()`. */
export interface Moment {
  now: number
  /** The latest slot that this process has for the lane; -Infinity before the first. */
  latestSlotAt: number
  /** Between two slots (ms). */
  gapMs: number
  /** Messages that it may have in flight besides those that it has. */
  free: number
  running: number
  /** How much sooner than it is due a step may begin: at a shared tick (kernel/shared-ticks.ts). */
  earlyMs: number
}

/** When to look again, and whether a step may begin as much sooner as the shared tick before is. */
export interface Wait {
  waitMs: number
  mayBeEarly: boolean
}

/** What to take now, how long to wait until taking is worth it (ms), or that there is no room worth a step: some must be freed. */
export function nextTake(known: Known, moment: Moment): Take | Wait | 'full' {
  const { now, gapMs, free, running, earlyMs } = moment
  if (free === 0) return 'full'
  const { unclaimedSince, aheadMs } = positionOf(known, moment)
  const mostAheadMs = known.servesCampaign ? AHEAD_MS : Math.max(AHEAD_MS, Math.min(SLOW_AHEAD_MS, AHEAD_GAPS * gapMs))
  // Its messages are claimed at the end of the step: slots that come meanwhile are for them too.
  const comingMs = known.hasMore ? Math.min(known.quickMs, MOST_PAST_MS) : 0
  const paced = Math.floor((mostAheadMs + comingMs - aheadMs) / gapMs) + (aheadMs <= 0 ? 1 : 0)
  const neededMs = mostAheadMs > AHEAD_MS ? 0 : TIMES_TAKEN * known.takesMs
  const lowAheadMs = Math.min(mostAheadMs * MOST_LEFT, Math.max(mostAheadMs * LEAST_LEFT, neededMs))
  if (aheadMs > lowAheadMs + earlyMs || paced < 1) {
    const pacedMs = paced < 1 ? aheadMs + gapMs - mostAheadMs : 0
    const refillMs = Math.max(TICK_MS, aheadMs - lowAheadMs, pacedMs)
    // The slots of the next moment are a campaign's: a transactional message that has come may have one of them.
    if (!(known.isUnread && known.servesCampaign)) return { waitMs: refillMs, mayBeEarly: refillMs > pacedMs }
    const againMs = known.peekedAt + WOKEN_MS - now
    if (againMs > 0) return { waitMs: Math.min(againMs, refillMs), mayBeEarly: false }
    return { most: Math.min(free, WORTH), firstOnly: true, unclaimedSince }
  }
  const most = Math.min(free, paced, MOST)
  if (known.campaignsRestUntil > now)
    return known.isUnread
      ? { most, firstOnly: true, unclaimedSince }
      : { waitMs: known.campaignsRestUntil - now, mayBeEarly: false }
  if (known.isCooling) return { most: 1, firstOnly: false, unclaimedSince }
  // Room becomes free one message at a time.
  const isWorth = most >= Math.min(paced, WORTH, Math.max(1, running / 8))
  if (isWorth || running === 0) return { most, firstOnly: false, unclaimedSince }
  // Any room is worth a step for a transactional message that has come and has no older ones before it: the provider may free no more for
  // as long as it hangs.
  if (!(known.isUnread && (known.servesCampaign || !known.hasMore))) return 'full'
  const againMs = known.peekedAt + WOKEN_MS - now
  return againMs > 0
    ? { waitMs: againMs, mayBeEarly: false }
    : { most: Math.min(free, WORTH), firstOnly: true, unclaimedSince }
}

/** How far ahead of now slots are claimed (ms); below 0 if slots have passed that nobody has claimed since `unclaimedSince`. */
function positionOf(
  { hasMore, heldUntil }: Known,
  { now, latestSlotAt }: Moment,
): { unclaimedSince: number; aheadMs: number } {
  // Time in which the lane was held, or had nothing to send, is not made up for.
  const isLate = hasMore && Number.isFinite(latestSlotAt)
  const unclaimedSince = isLate ? Math.max(latestSlotAt, heldUntil) : Number.POSITIVE_INFINITY
  const pastMs = Math.max(0, Math.min(MOST_PAST_MS, now - unclaimedSince))
  return { unclaimedSince, aheadMs: pastMs > 0 ? -pastMs : Math.max(0, latestSlotAt - now) }
}
