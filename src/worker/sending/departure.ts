// Sends one claimed message in its slot. A process that stood still has missed its slots and must not send everything that
// it had claimed at once: it reserves a new slot for each message. If it dies here, it dies after the claim, see attempt.ts.
import { setTimeout as pause } from 'node:timers/promises'
import { type Deadline, isOver } from '../../deadline.ts'
import { type CallEnd, MISSED_SLOT } from '../../messages/outcome.ts'
import type { Pace } from '../../messages/pace.ts'
import { reserveSlots, type Slot } from '../../messages/store/claim.ts'
import type { Redis } from '../../redis/connect.ts'
import type { RedisClock } from './redis-clock.ts'

/** A replacement slot further ahead than this is not used: the message goes back to its lane. */
export const MOST_AHEAD_MS = 2_000
/** How many slots a request may miss before it is given more time than its pace allows. */
const STRICT_TRIES = 3
/** Timers may fire this early, and Redis' clock is known no better: waiting for the rest costs an event-loop tick. */
const EARLY_MS = 1
/** How long before its slot we ask again whether a message is wanted: by then the answer is there. */
const ASKED_AHEAD_MS = 50

/**
 * Sends in the claimed slot and says how the call ended; undefined when the message may not leave under this claim. A request
 * that misses its slot gets another one.
 *
 * `send` must let nothing leave after the time it is given (`performance.now()`), because opening a connection takes longer
 * than a request may be late. `askAgain` is called before anything leaves after `claimed.wantedUntil`: it says until when the
 * message may leave, or undefined if it may not.
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
  const now = performance.now()
  if (now < leavesAt - EARLY_MS || isOver(until) || isOver(wantedUntil) || now - leavesAt > pace.lateMs) {
    return inTime({ ...deps, lane, claimed, wantedUntil, send, askAgain }, slot, 0)
  }
  return send(Math.min(leavesAt + pace.lateMs, until.steadyMs, wantedUntil.steadyMs)).then((end) =>
    hasMissed(end) ? inAnother({ ...deps, lane, claimed, wantedUntil, send, askAgain }, slot, 1) : end,
  )
}

/** A request that waits or needs another slot. */
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
  // Or a machine that is always late would reserve slots for ever.
  const lateMs = claimed.pace.lateMs * 2 ** Math.max(0, missed - STRICT_TRIES)
  const leavesAt = clock.ours(lane, slot.atMs)
  // Redis' clock was set back meanwhile.
  if (leavesAt >= claimed.until.steadyMs) return undefined
  if (leavesAt >= waiting.wantedUntil.steadyMs || isOver(waiting.wantedUntil)) {
    await timeIs(leavesAt - ASKED_AHEAD_MS)
    // Without Redis nothing leaves.
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

/** Reserves another slot for a missed one. Without Redis there is none, and the message is proven unsent. */
async function inAnother(waiting: Waiting, slot: Slot, missed: number): Promise<CallEnd | undefined> {
  const { redis, clock, lane, claimed } = waiting
  const askedAt = performance.now()
  const how = { pace: claimed.pace, mostAheadMs: MOST_AHEAD_MS }
  const [next] = await reserveSlots(redis, lane, [slot], how).catch(() => [])
  if (next === undefined) return undefined
  clock.heard(lane, askedAt, next.nowMs, performance.now())
  return inTime(waiting, next, missed)
}
