// When a claimed message leaves: which message of a lane goes in the next slot, its request, and Redis' clock, which
// slots are on. A process that stood still has missed its slots and must not send all that it had claimed at once: it
// reserves another slot for each message. Dying here is dying after the claim, see attempt.ts.
import { setTimeout as pause } from 'node:timers/promises'
import { type Deadline, isOver } from '../../deadline.ts'
import type { MessageClass } from '../../messages/content.ts'
import { type CallEnd, MISSED_SLOT } from '../../messages/outcome.ts'
import type { Pace } from '../../messages/pace.ts'
import { reserveSlots, type Slot } from '../../messages/store/claim.ts'
import type { Redis } from '../../redis/connect.ts'

/** Another slot that is further ahead than this is not waited for: the message goes back to its lane. */
export const MOST_AHEAD_MS = 2_000
/** How many slots a request may miss before it is given more time than its pace allows. */
const STRICT_TRIES = 3
/**
 * Timers may fire this much early, and Redis' clock is known no better: waiting for the rest would cost a turn of the
 * event loop.
 */
const EARLY_MS = 1
/** How long before its slot we ask again whether a message is wanted: by then the answer is there. */
const ASKED_AHEAD_MS = 50

/**
 * Sends when the slot has come, and says how the call ended; undefined when it may not leave under this claim, which is
 * good until `claimed.until`. `send` must let nothing leave after the time that it is given (`performance.now()`):
 * opening a connection takes longer than a request may be late. A request that missed its slot is sent in another one.
 * `askAgain` is called before anything leaves after `claimed.wantedUntil`, and says until when it may, or undefined if
 * it may not.
 */
export function departure(
  deps: { redis: Redis; clock: RedisClock },
  lane: number,
  claimed: ClaimedSlot,
  send: (leaveBy: number) => Promise<CallEnd>,
  askAgain: () => Promise<Deadline | undefined>,
): Promise<CallEnd | undefined> {
  const { slot, pace, until, wantedUntil } = claimed
  if (slot === undefined) return Promise.resolve(undefined)
  const leavesAt = deps.clock.ours(lane, slot.atMs)
  // Most may leave at once: a campaign's are claimed together, and their slots come while Redis answers.
  const now = performance.now()
  if (now < leavesAt - EARLY_MS || isOver(until) || isOver(wantedUntil) || now - leavesAt > pace.lateMs) {
    return inTime({ ...deps, lane, claimed, wantedUntil, send, askAgain }, slot, 0)
  }
  return send(Math.min(leavesAt + pace.lateMs, until.steadyMs, wantedUntil.steadyMs)).then((end) =>
    hasMissed(end) ? inAnother({ ...deps, lane, claimed, wantedUntil, send, askAgain }, slot, 1) : end,
  )
}

/** A request that may have to wait, or needs another slot. */
interface Waiting {
  redis: Redis
  clock: RedisClock
  lane: number
  claimed: ClaimedSlot
  wantedUntil: Deadline
  send: (leaveBy: number) => Promise<CallEnd>
  askAgain: () => Promise<Deadline | undefined>
}

interface ClaimedSlot {
  slot: Slot | undefined
  pace: Pace
  until: Deadline
  wantedUntil: Deadline
}

const hasMissed = (end: CallEnd): boolean => end.kind === 'never_left' && end.cause === MISSED_SLOT

/** Waits for the slot; `missed` were missed before it. */
async function inTime(waiting: Waiting, slot: Slot, missed: number): Promise<CallEnd | undefined> {
  const { clock, lane, claimed, send } = waiting
  // A machine that is always late would reserve slots for ever: after a few misses it may be later each time.
  const lateMs = claimed.pace.lateMs * 2 ** Math.max(0, missed - STRICT_TRIES)
  const leavesAt = clock.ours(lane, slot.atMs)
  // Redis' clock was set back meanwhile.
  if (leavesAt >= claimed.until.steadyMs) return undefined
  if (leavesAt >= waiting.wantedUntil.steadyMs || isOver(waiting.wantedUntil)) {
    await timeIs(leavesAt - ASKED_AHEAD_MS)
    // Without Redis nobody knows, and nothing leaves.
    const wantedUntil = await waiting.askAgain().catch(() => undefined)
    if (wantedUntil === undefined) return undefined
    waiting.wantedUntil = wantedUntil
  }
  await timeIs(leavesAt)
  if (isOver(claimed.until)) return undefined
  if (performance.now() - leavesAt <= lateMs && !isOver(waiting.wantedUntil)) {
    const end = await send(Math.min(leavesAt + lateMs, claimed.until.steadyMs, waiting.wantedUntil.steadyMs))
    if (!hasMissed(end)) return end
  }
  return inAnother(waiting, slot, missed + 1)
}

/** Timers count whole milliseconds and may fire a fraction early. */
async function timeIs(at: number): Promise<void> {
  for (let now = performance.now(); now < at; now = performance.now()) await pause(Math.ceil(at - now))
}

/** The slot was missed: reserves another one. Without Redis there is none; what has not left is then proven unsent. */
async function inAnother(waiting: Waiting, slot: Slot, missed: number): Promise<CallEnd | undefined> {
  const { redis, clock, lane, claimed } = waiting
  const askedAt = performance.now()
  const how = { pace: claimed.pace, mostAheadMs: MOST_AHEAD_MS }
  const [next] = await reserveSlots(redis, lane, [slot], how).catch(() => [])
  if (next === undefined) return undefined
  clock.heard(lane, askedAt, next.nowMs, performance.now())
  return inTime(waiting, next, missed)
}

/** Timers have a resolution of a millisecond: what is due within this leaves now. */
const TIMER_MS = 0.5
/**
 * Messages leave at ticks, the same ones for all lanes, so that the event loop of a process with many lanes turns a few
 * hundred times a second and not once for each message. A tick is this part of what a request may be late, and at most
 * MOST_TICK_MS.
 */
const TICK_OF_LATE = 1 / 10
const MOST_TICK_MS = 5

/**
 * The claimed messages of one lane that wait for a slot. Slots of a lane are interchangeable: whichever message goes
 * first takes the next one, so a transactional message does not wait behind a campaign that has claimed the next
 * moment. Slots that this process has missed are replaced together, in one step.
 */
export interface LaneSlots {
  /**
   * Resolves, once it has come, to the slot in which the message leaves; undefined when the message was recalled, its slot
   * was missed and there is no other, or the next one comes after `until`, as when Redis' clock was set back.
   */
  wait(of: MessageClass, slot: Slot, pace: Pace, until: Deadline): Promise<Slot | undefined>
  /** Takes back all that waits now: none of it leaves. */
  recall(): void
  /** The latest slot that was given out here and that a message could leave in (`performance.now()`). */
  latestAt(): number
}

function tickAt(at: number, { lateMs }: Pace): number {
  // Where nothing is ever late, a longer tick would hold hundreds.
  const tick = Number.isFinite(lateMs) ? Math.min(MOST_TICK_MS, lateMs * TICK_OF_LATE) : 1
  return Math.ceil(at / tick) * tick
}

interface InLine {
  go: (slot: Slot | undefined) => void
  until: Deadline
}

/** `others` reserves slots in place of those that were missed, and may get fewer. */
export function createLaneSlots(
  clock: Pick<RedisClock, 'ours'>,
  lane: number,
  others: (missed: readonly Slot[], pace: Pace) => Promise<Slot[]>,
): LaneSlots {
  /** Slots that no message has used yet, the next one first. */
  let slots: Slot[] = []
  const first: InLine[] = []
  const then: InLine[] = []
  let latestAt = Number.NEGATIVE_INFINITY
  /** Until when the claim is good that was made last. */
  let latestUntil = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  /** How often all was recalled. */
  let recalls = 0

  function leave(pace: Pace): void {
    timer = undefined
    const now = performance.now()
    const missed: Slot[] = []
    for (let [slot] = slots; slot !== undefined; [slot] = slots) {
      const at = clock.ours(lane, slot.atMs)
      const late = lateLine(at)
      if (late !== undefined) {
        // All other slots are later still.
        slots.pop()
        late.shift()?.go(undefined)
        continue
      }
      if (at > now + TIMER_MS) {
        timer = setTimeout(leave, tickAt(at, pace) - now, pace)
        break
      }
      slots.shift()
      if (now - at > pace.lateMs) missed.push(slot)
      else (first.shift() ?? then.shift())?.go(slot)
    }
    if (missed.length > 0) void replace(missed, pace)
  }

  /** The line whose first message, which was claimed before the others of it, may not leave as late as that any more. */
  function lateLine(at: number): InLine[] | undefined {
    if ((first[0]?.until.steadyMs ?? Number.POSITIVE_INFINITY) <= at) return first
    return (then[0]?.until.steadyMs ?? Number.POSITIVE_INFINITY) <= at ? then : undefined
  }

  /** Never rejects. */
  async function replace(missed: readonly Slot[], pace: Pace): Promise<void> {
    const before = recalls
    // Without Redis there are none.
    const found = await others(missed, pace).catch(() => [])
    if (recalls !== before) return
    for (const slot of found) add(slot, pace)
    for (let i = found.length; i < missed.length; i += 1) (then.pop() ?? first.pop())?.go(undefined)
  }

  function add(slot: Slot, pace: Pace): void {
    let at = slots.length
    while (at > 0 && (slots[at - 1]?.atMs ?? 0) > slot.atMs) at -= 1
    slots.splice(at, 0, slot)
    if (at === 0 && timer !== undefined) {
      clearTimeout(timer)
      timer = undefined
    }
    // A slot of a clock that was set back since lies ahead by as much: the lane does not wait for that.
    const slotAt = clock.ours(lane, slot.atMs)
    if (slotAt < latestUntil) latestAt = Math.max(latestAt, slotAt)
    if (timer !== undefined) return
    const firstAt = clock.ours(lane, (slots[0] ?? slot).atMs)
    const now = performance.now()
    // What was claimed in one step is sent in one go.
    const isNow = firstAt <= now + TIMER_MS || lateLine(firstAt) !== undefined
    timer = setTimeout(leave, isNow ? 0 : tickAt(firstAt, pace) - now, pace)
  }

  return {
    wait: (of, slot, pace, until) =>
      new Promise((go) => {
        const line = of === 'transactional' ? first : then
        line.push({ go, until })
        latestUntil = until.steadyMs
        add(slot, pace)
      }),
    recall: () => {
      clearTimeout(timer)
      timer = undefined
      slots = []
      recalls += 1
      for (const { go } of [...first.splice(0), ...then.splice(0)]) go(undefined)
    },
    latestAt: () => latestAt,
  }
}

export type RedisClock = ReturnType<typeof createRedisClock>

/**
 * Redis' clock on ours. The slots of a lane are on the clock of its server, which all workers share; ours may be
 * minutes off, and so may that of another server of a cluster.
 *
 * Learns from every answer that says what time it was on Redis: that was after we asked and before the answer came. On
 * our side the clock is `performance.now()`, because nobody sets it. `serverOf` names the server of a lane.
 */
export function createRedisClock(serverOf: (lane: number) => string = () => '') {
  /** Redis' time less ours (ms), by server. */
  const offsets = new Map<string, number>()

  return {
    /** The lane's Redis said `redisMs` in answer to what was asked at `askedAt` and answered at `answeredAt`. */
    heard(lane: number, askedAt: number, redisMs: number, answeredAt: number): void {
      const [least, most] = [redisMs - answeredAt, redisMs - askedAt]
      const server = serverOf(lane)
      const offset = offsets.get(server)
      // Servers that are gone.
      if (offset === undefined && offsets.size >= MOST_SERVERS) offsets.clear()
      // What is known already is more exact than this answer as long as the two agree. When they do not, a clock was
      // set or has drifted, or another server is the primary.
      offsets.set(server, offset === undefined ? least : Math.min(Math.max(offset, least), most))
    },

    /** What `performance.now()` says at a time of the lane's Redis. Only after it has been heard once. */
    ours: (lane: number, redisMs: number): number => redisMs - (offsets.get(serverOf(lane)) ?? anyOf(offsets)),
  }
}

const MOST_SERVERS = 1_000

/** The lane has moved to a server that was not heard from yet: another one's clock is most likely right for it, too. */
const anyOf = (offsets: ReadonlyMap<string, number>): number => offsets.values().next().value ?? 0
