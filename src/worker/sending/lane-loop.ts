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
import type { LaneSignals } from './lane-signals.ts'
import { type Known, nextTake, TICK_MS, WOKEN_MS, WORTH } from './next-take.ts'
import type { Take, Taken } from './take.ts'
import type { TakeTurns } from './take-turns.ts'

/** The quickest step fades by this factor with each later one, over some twenty of them. */
const FADE = 0.95
/** How much a step counts in what one takes lately: some ten of them do. */
const LATEST_COUNTS = 0.2
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

/**
 * What the loop does, until the bell of the lane rings or the step is over:
 *
 *   idle      nothing of the lane is known to wait: only a wake goes on
 *   waiting   something may wait: the next step is due at `at` (`performance.now()`), and the bell rings then or at the shared tick before
 *   full      something waits, and there is no room: the bell rings for the next that is freed
 *   in line   a step is due since `dueAt`, or may begin early and is due at `at`, and the bell rings when it is the turn of this lane
 *             (take-turns.ts)
 *   taking    a step reads and claims; what comes meanwhile is noted in the signals of the lane
 */
type Mode =
  | { name: 'idle' | 'full' | 'taking' }
  | { name: 'in line'; dueAt: number; at: number }
  | { name: 'waiting'; at: number; mayBeEarly: boolean; takeBack: () => boolean }

/**
 * Serves a lane from the first ring of its bell until it is stopped. Never rejects. `take` claims and sends; it rejects when Redis is
 * away. `gapMs`: between two slots.
 */
export async function serveSteps(deps: {
  signals: LaneSignals
  inFlightLimit: Pick<InFlightLimit, 'available' | 'running' | 'ringWhenFreed'>
  turns: TakeTurns
  /** Those of all lanes of this process. */
  moments: SharedMoments
  latestSlotAt: () => number
  gapMs: () => number
  take: (next: Take) => Promise<Taken>
  failed: (error: unknown) => void
}): Promise<void> {
  const { signals, inFlightLimit, turns } = deps
  const { bell } = signals
  let mode: Mode = { name: 'idle' }
  /** What the steps so far have found out about the lane, and what its signals said at the last look. */
  const found: Known = {
    isUnread: false,
    heldUntil: Number.NEGATIVE_INFINITY,
    hasMore: false,
    // A campaign may have claimed slots for another worker.
    servesCampaign: true,
    isCooling: false,
    campaignsRestUntil: 0,
    peekedAt: Number.NEGATIVE_INFINITY,
    takesMs: 0,
    quickMs: 0,
  }
  /** Until then a lane in line does nothing else than wait for its turn (`performance.now()`). */
  let listensUntil = Number.NEGATIVE_INFINITY
  /** For the next delayed job; runs in every mode. */
  let dueTimer: NodeJS.Timeout | undefined

  await bell.rung()
  while (!signals.isStopped) {
    const step = look()
    // Awaited right here: who rings goes on when this has looked again (kernel/bell.ts).
    await (step ?? bell.rung())
  }
  leave()

  function leave(): void {
    if (mode.name === 'waiting') mode.takeBack()
    clearTimeout(dueTimer)
    turns.leave(bell)
  }

  /** Looks what is due: starts the next step, or decides what to wait for. */
  function look(): Promise<void> | undefined {
    const now = performance.now()
    const before = mode
    mode = { name: 'idle' }
    // At a shared tick a step may begin early.
    const isTick = before.name === 'waiting' && !before.takeBack() && before.mayBeEarly
    const dueAt = before.name === 'waiting' ? Math.min(now, before.at) : before.name === 'in line' ? before.dueAt : now
    // Who may begin early still may when its turn comes: else it would leave the line and come back as the last.
    const at = isTick || before.name === 'in line' ? before.at : now
    const next = nextStep(now, Math.max(0, at - now))
    const isTake = next !== undefined && next !== 'full' && 'most' in next
    // Only a backlog waits for its turn: what has just come to a lane without one, and transactional messages alone, are few, and
    // somebody waits for them.
    const needsTurn = isTake && found.hasMore && !next.firstOnly
    if (needsTurn && !turns.begin(next.most, bell)) {
      mode = { name: 'in line', dueAt, at }
      return takeBeforeTurn(next, now)
    }
    if (!needsTurn) turns.leave(bell)
    if (isTake) {
      mode = { name: 'taking' }
      return take(next, dueAt, needsTurn)
    }
    if (next === 'full') {
      mode = { name: 'full' }
      inFlightLimit.ringWhenFreed()
    } else if (next !== undefined) waitUntil(now + next.waitMs, next.mayBeEarly)
    return undefined
  }

  /**
   * Takes the transactional messages that have come to a lane that stands in line with messages of campaigns: those are few, and somebody
   * waits for them. It keeps its place, and looks for its turn again when they are claimed.
   */
  function takeBeforeTurn({ most, unclaimedSince }: Take, now: number): Promise<void> | undefined {
    // A lane whose backlog is transactional has older ones, which wait for its turn.
    if (!(signals.isUnread && found.servesCampaign)) return undefined
    const againAt = Math.max(found.peekedAt + WOKEN_MS, listensUntil)
    if (againAt <= now) return takeFew({ most: Math.min(WORTH, most), firstOnly: true, unclaimedSince }, now)
    // A ring too many does no harm.
    deps.moments.at(Math.ceil(againAt / TICK_MS) * TICK_MS, bell)
    return undefined
  }

  /** Its turn may pass meanwhile: it listens for it twice as long as this takes before it does so again. */
  async function takeFew(next: Take, now: number): Promise<void> {
    await take(next, now, false)
    const endedAt = performance.now()
    listensUntil = endedAt + 2 * (endedAt - now)
  }

  /** What is due; undefined: nothing of the lane is known to wait. */
  function nextStep(now: number, earlyMs: number): ReturnType<typeof nextTake> | undefined {
    const { isUnread, isFed, heldUntil } = signals
    if (!(isUnread || isFed || found.hasMore)) return undefined
    if (heldUntil > now) return { waitMs: heldUntil - now, mayBeEarly: false }
    found.isUnread = isUnread
    found.heldUntil = heldUntil
    return nextTake(found, {
      now,
      earlyMs,
      latestSlotAt: deps.latestSlotAt(),
      gapMs: deps.gapMs(),
      free: inFlightLimit.available(),
      running: inFlightLimit.running(),
    })
  }

  function waitUntil(at: number, mayBeEarly: boolean): void {
    const tick = Math.ceil((mayBeEarly ? sharedTickBefore(at) : at) / TICK_MS) * TICK_MS
    mode = { name: 'waiting', at, mayBeEarly, takeBack: deps.moments.at(tick, bell) }
  }

  async function take(next: Take, dueAt: number, hasTurn: boolean): Promise<void> {
    const endTurn = hasTurn ? turnOf(next.most) : undefined
    const beganAt = performance.now()
    const wasUnread = signals.isUnread
    // What comes during the step sets them again: it may not have read that.
    signals.isUnread = false
    if (next.firstOnly) found.peekedAt = performance.now()
    else signals.isFed = false
    try {
      const taken = await deps.take(next)
      const endedAt = performance.now()
      found.takesMs += (found.takesMs === 0 ? 1 : LATEST_COUNTS) * (endedAt - dueAt - found.takesMs)
      found.quickMs = Math.min(found.quickMs / FADE + 1, endedAt - beganAt)
      learn(next, taken, wasUnread)
    } catch (error) {
      deps.failed(error)
      found.hasMore = true
      if (next.firstOnly && wasUnread) signals.isUnread = true
      signals.hold(AWAY_MS)
    }
    // It goes on as the last in line.
    endTurn?.()
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

  function learn({ firstOnly }: Take, taken: Taken, wasUnread: boolean): void {
    const { hasCampaign, heldMs, isPaused, dueInMs, isFull, campaignsRestMs } = taken
    const now = performance.now()
    if (firstOnly) {
      found.hasMore ||= wasUnread
      if (found.campaignsRestUntil > now && isFull === true) signals.isUnread = true
    } else {
      found.hasMore = taken.hasMore
      found.servesCampaign = hasCampaign
    }
    if (campaignsRestMs !== undefined) {
      found.campaignsRestUntil = now + campaignsRestMs
      signals.isUnread = true
      found.hasMore = true
    }
    if (isPaused) found.hasMore = false
    found.isCooling = heldMs !== undefined && heldMs >= COOLDOWN_MS
    if (heldMs !== undefined) signals.hold(heldMs)
    // A resume wakes the lane; until then what is due stays due.
    if (dueInMs === undefined || found.hasMore || isPaused) return
    if (dueInMs === 0) signals.isUnread = true
    else wakeIn(dueInMs)
  }

  function wakeIn(ms: number): void {
    clearTimeout(dueTimer)
    if (!signals.isStopped) dueTimer = setTimeout(() => signals.wake(), Math.min(ms, LONGEST_TIMER_MS))
  }
}
