// Waits for the slot in which a request leaves. A process that stood still has missed it, and must not send all that it
// had claimed at once: it reserves another slot for each. Dying here is dying after the claim, see attempt.ts.
import { setTimeout as pause } from 'node:timers/promises'
import { type CallEnd, MISSED_SLOT } from '../messages/outcome.ts'
import type { Pace } from '../messages/pace.ts'
import { reserveSlot, type Slot } from '../messages/store/claim.ts'
import type { Redis } from '../redis/connect.ts'
import type { RedisClock } from './redis-clock.ts'

/** Another slot that is further ahead than this is not waited for; the message goes back to its lane. */
const MOST_AHEAD_MS = 2_000
/** So many slots may be missed before a request is given more time than its pace allows. */
const STRICT_TRIES = 3

/**
 * Sends when the slot has come, and says how the call ended; undefined when it may not leave under this claim, which is
 * good until `claimed.until` (`performance.now()`). `send` must let nothing leave after the time that it is given: a
 * connection that is not there yet takes longer to open than a request may be late. Then it is sent in another slot.
 */
export async function departure(
  deps: { redis: Redis; clock: RedisClock },
  lane: number,
  claimed: { slot: Slot | undefined; pace: Pace; until: number },
  send: (leaveBy: number) => Promise<CallEnd>,
): Promise<CallEnd | undefined> {
  const { redis, clock } = deps
  let { slot } = claimed
  for (let missed = 0; slot !== undefined; missed += 1) {
    // A machine that is always late would reserve slots for ever: after a few it may be later each time.
    const lateMs = claimed.pace.lateMs * 2 ** Math.max(0, missed - STRICT_TRIES)
    const leavesAt = clock.ours(lane, slot.atMs)
    // Timers count whole milliseconds and may fire a fraction early.
    for (let now = performance.now(); now < leavesAt; now = performance.now()) await pause(Math.ceil(leavesAt - now))
    if (performance.now() >= claimed.until) return undefined
    if (performance.now() - leavesAt <= lateMs) {
      const end = await send(Math.min(leavesAt + lateMs, claimed.until))
      if (end.kind !== 'never_left' || end.cause !== MISSED_SLOT) return end
    }
    const askedAt = performance.now()
    // Without Redis there is no other slot; what has not left is then proven unsent.
    slot = await reserveSlot(redis, lane, slot, { pace: claimed.pace, mostAheadMs: MOST_AHEAD_MS }).catch(
      () => undefined,
    )
    if (slot !== undefined) clock.heard(lane, askedAt, slot.nowMs, performance.now())
  }
  return undefined
}
