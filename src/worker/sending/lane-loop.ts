// Serves one lane in one process, by time and not message by message: the messages that its pace lets out within the next
// moment are read and claimed in one step, and answered ones are settled in one step (lanes/messages/steps.ts). Where a message
// can be, and what is left of it when the process dies there:
//
//   waiting    on its lane in Redis, as a job or a place      as it was
//   read       here, before its claim                         as it was: reading takes nothing
//   claimed    here, waits for its slot (lane-slots.ts)        `sending`: the sweep flags it, then its policy decides
//   in flight  the request is under way                       the same; evidence of the provider settles it
//   answered   waits to be settled with others                the same
//
// So a kill leaves in doubt the messages in flight, those answered but not settled (up to twice SETTLE_MS,
// lanes/messages/steps.ts), and at most AHEAD_MS of the lane's pace, or AHEAD_GAPS messages (next-take.ts); on a machine that is
// late also what is made up for at once (MOST_PAST_MS, model/messages/pace.ts).
import { type SharedMoments, sharedTickBefore } from '../../kernel/shared-ticks.ts'
import { DAY_MS } from '../../kernel/time-units.ts'
import type { InFlightLimit } from './in-flight-limit.ts'
import { type Known, nextTake, TICK_MS } from './next-take.ts'
import type { Take, Taken } from './take.ts'
import type { TakeTurns } from './take-turns.ts'

/** The quickest step fades by this factor with each later one, over some twenty of them. */
const FADE = 0.95
/** How much a step counts in what one takes lately: some ten of them do. */
const LATEST_COUNTS = 0.2
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
/** setTimeout takes no more than 2^31 ms; the sweep wakes lanes that are due as well. */
const LONGEST_TIMER_MS = DAY_MS

/** A turn lasts no longer than this, though the step may: a step of a machine that is late takes half a second or one. */
const MOST_TURN_MS = 2_000

/** One lane as this process serves it. */
export interface LaneLoop {
  /** There may be something new. */
  wake(): void
  /** Messages of campaigns have come. Unlike after `wake`, the lane is not read before its next slots for campaigns. */
  fed(): void
  /** Claims nothing for this long. */
  hold(ms: number): void
  /** There is room again. */
  freed(): void
  /** When a message was last taken or in flight (`performance.now()`). */
  lastWorkAt(): number
  stop(): void
}

/**
 * What the loop does now:
 *
 *   idle      nothing of the lane is known to wait: only a wake goes on
 *   waiting   something may wait: the next step is due at `at` (`performance.now()`)
 *   full      something waits, and there is no room: the next that is freed goes on
 *   in line   a step is due since `dueAt`, and waits for the turn of this lane (take-turns.ts)
 *   taking    a step reads and claims; `isWoken`: there may be something that it has not read
 *   stopped   for good
 */
type Mode =
  | { name: 'idle' | 'full' | 'stopped' }
  | { name: 'in line'; dueAt: number }
  | { name: 'waiting'; at: number; cancel: () => void }
  | { name: 'taking'; isWoken: boolean }

/** Serves a lane until stopped. `take` claims and sends; it rejects when Redis is away. `gapMs`: between two slots. */
export function createLaneLoop(deps: {
  inFlightLimit: Pick<InFlightLimit, 'available' | 'running'>
  turns: TakeTurns
  /** Those of all lanes of this process. */
  moments: SharedMoments
  latestSlotAt: () => number
  gapMs: () => number
  take: (next: Take) => Promise<Taken>
  failed: (error: unknown) => void
}): LaneLoop {
  const { inFlightLimit, turns } = deps
  let mode: Mode = { name: 'idle' }
  /** What the steps so far have found out about the lane. */
  const known: Known = {
    // There may be jobs already.
    isUnread: true,
    hasMore: false,
    // A campaign may have claimed slots for another worker.
    servesCampaign: true,
    isCooling: false,
    heldUntil: 0,
    campaignsRestUntil: 0,
    peekedAt: Number.NEGATIVE_INFINITY,
    takesMs: 0,
    quickMs: 0,
  }
  /** Messages of campaigns have come since the latest full read. */
  let isFed = false
  let lastWorkAt = performance.now()
  /** For the next delayed job; runs in every mode. */
  let dueTimer: NodeJS.Timeout | undefined

  /** Starts the next step, or waits for what it needs. `isTick`: it was waited for a shared tick, at which a step may begin early. */
  function goOn(isTick = false): void {
    if (mode.name === 'taking' || mode.name === 'stopped') return
    const now = performance.now()
    const dueAt = mode.name === 'waiting' ? Math.min(now, mode.at) : mode.name === 'in line' ? mode.dueAt : now
    const earlyMs = isTick && mode.name === 'waiting' ? Math.max(0, mode.at - now) : 0
    if (mode.name === 'waiting') mode.cancel()
    mode = { name: 'idle' }
    const next = nextStep(now, earlyMs)
    const isTake = next !== undefined && next !== 'full' && 'most' in next
    // Only a backlog waits for its turn: what has just come to a lane without one, and transactional messages alone, are few, and
    // somebody waits for them.
    const needsTurn = isTake && known.hasMore && !next.firstOnly
    if (needsTurn && !turns.begin(next.most, inTurn)) {
      mode = { name: 'in line', dueAt }
      return
    }
    if (!needsTurn) turns.leave(inTurn)
    if (isTake) void take(next, dueAt, needsTurn)
    else if (next === 'full') mode = { name: 'full' }
    else if (next !== undefined) waitUntil(now + next.waitMs, next.mayBeEarly)
  }

  /** The same once it is the turn of this lane. */
  const inTurn = (): void => goOn()

  /** What is due; undefined: nothing of the lane is known to wait. */
  function nextStep(now: number, earlyMs: number): ReturnType<typeof nextTake> | undefined {
    if (!(known.isUnread || isFed || known.hasMore)) return undefined
    if (known.heldUntil > now) return { waitMs: known.heldUntil - now, mayBeEarly: false }
    return nextTake(known, {
      ...{ now, earlyMs },
      latestSlotAt: deps.latestSlotAt(),
      gapMs: deps.gapMs(),
      free: inFlightLimit.available(),
      running: inFlightLimit.running(),
    })
  }

  function waitUntil(at: number, mayBeEarly: boolean): void {
    const tick = Math.ceil((mayBeEarly ? sharedTickBefore(at) : at) / TICK_MS) * TICK_MS
    mode = { name: 'waiting', at, cancel: deps.moments.at(tick, () => goOn(mayBeEarly)) }
  }

  async function take(next: Take, dueAt: number, hasTurn: boolean): Promise<void> {
    const taking: Mode = { name: 'taking', isWoken: false }
    mode = taking
    const endTurn = hasTurn ? turnOf(next.most) : undefined
    const beganAt = performance.now()
    if (next.firstOnly) known.peekedAt = performance.now()
    else known.isUnread = isFed = false
    try {
      const taken = await deps.take(next)
      const endedAt = performance.now()
      known.takesMs += (known.takesMs === 0 ? 1 : LATEST_COUNTS) * (endedAt - dueAt - known.takesMs)
      known.quickMs = Math.min(known.quickMs / FADE + 1, endedAt - beganAt)
      learn(next, taken)
    } catch (error) {
      deps.failed(error)
      known.hasMore = true
      hold(AWAY_MS)
    }
    // It goes on as the last in line.
    endTurn?.()
    // It may have been stopped meanwhile.
    if (mode !== taking) return
    mode = { name: 'idle' }
    known.isUnread ||= taking.isWoken
    goOn()
  }

  /** Ends the turn once, by itself after MOST_TURN_MS: a step that waits for its file or for Redis must not hold up other lanes. */
  function turnOf(most: number): () => void {
    const end = (): void => {
      if (timer === undefined) return
      clearTimeout(timer)
      timer = undefined
      turns.end(most)
    }
    let timer: NodeJS.Timeout | undefined = setTimeout(end, MOST_TURN_MS)
    return end
  }

  function learn({ firstOnly }: Take, taken: Taken): void {
    const { hasCampaign, heldMs, isPaused, dueInMs, isFull, campaignsRestMs } = taken
    const now = performance.now()
    if (firstOnly) {
      known.hasMore ||= known.isUnread
      known.isUnread = known.campaignsRestUntil > now && isFull === true
    } else {
      known.hasMore = taken.hasMore
      known.servesCampaign = hasCampaign
    }
    if (campaignsRestMs !== undefined) {
      known.campaignsRestUntil = now + campaignsRestMs
      known.isUnread = true
      known.hasMore = true
    }
    if (isPaused) known.hasMore = false
    known.isCooling = heldMs !== undefined && heldMs >= COOLDOWN_MS
    if (heldMs !== undefined) hold(heldMs)
    // A resume wakes the lane; until then what is due stays due.
    if (dueInMs === undefined || known.hasMore || isPaused) return
    if (dueInMs === 0) known.isUnread = true
    else wakeIn(dueInMs)
  }

  function wakeIn(ms: number): void {
    clearTimeout(dueTimer)
    if (mode.name !== 'stopped') dueTimer = setTimeout(wake, Math.min(ms, LONGEST_TIMER_MS))
  }

  function hold(ms: number): void {
    known.heldUntil = Math.max(known.heldUntil, performance.now() + Math.min(Math.max(1, ms), MOST_HELD_MS))
  }

  function wake(): void {
    known.isUnread = true
    if (mode.name === 'taking') mode.isWoken = true
    goOn()
  }

  return {
    wake,
    fed: () => {
      isFed = true
      goOn()
    },
    hold,
    freed: () => {
      lastWorkAt = performance.now()
      if (mode.name === 'full') goOn()
    },
    lastWorkAt: () => (inFlightLimit.running() > 0 ? performance.now() : lastWorkAt),
    stop: () => {
      if (mode.name === 'waiting') mode.cancel()
      clearTimeout(dueTimer)
      mode = { name: 'stopped' }
      turns.leave(inTurn)
    },
  }
}
