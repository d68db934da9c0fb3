// How long to wait before trying again. Pure: counts in, milliseconds out.
import { DAY_MS, HOUR_MS } from './time-units.ts'

const SECOND = 1_000

/** Wait of a lane whose provider keeps failing: `firstMs` doubled for each failure in a row, at most 30 s. */
export function laneBackoffMs(firstMs: number, failuresInARow: number): number {
  return Math.max(firstMs, Math.min(firstMs * 2 ** Math.min(failuresInARow, 20), 30 * SECOND))
}

/** Wait before try `tries` + 1 of one message: 2 s, 4 s, 8 s … 5 min; `spread` from 0 to 1 adds up to a quarter. */
export function messageBackoffMs(tries: number, spread: number): number {
  const base = Math.min(2 ** Math.min(Math.max(tries, 1), 20) * SECOND, 300 * SECOND)
  return Math.round(base * (1 + spread / 4))
}

/** First status poll after a send on a wire without webhooks. */
export const FIRST_POLL_MS = SECOND
/** Polling stops this long after sending. */
export const POLL_FOR_MS = DAY_MS

/** First poll after delivery: most people read within minutes, or much later. */
const FIRST_AFTER_DELIVERY_MS = 60 * SECOND
const HALF_AN_HOUR_MS = HOUR_MS / 2

/**
 * Wait until the next status poll of a message that is `ageMs` old since it was sent: its age, from 1 s to 1 h. Ages
 * double, so the first hour costs at most 12 polls, the day 35, and no counter is stored. A message that was delivered
 * `deliveredMs` ago can only still be read: at most 2 polls in any hour. A poll that comes late makes the
 * next one later still, so a lane that is short of polls stretches the schedule of all its messages.
 */
export function nextPollMs(ageMs: number, deliveredMs?: number): number {
  if (deliveredMs === undefined) return Math.max(SECOND, Math.min(Math.ceil(ageMs), HOUR_MS))
  if (deliveredMs < FIRST_AFTER_DELIVERY_MS) return FIRST_AFTER_DELIVERY_MS
  return deliveredMs < 6 * HOUR_MS ? HALF_AN_HOUR_MS : HOUR_MS
}

/** Status polls of one lane under way at the same time, over all workers. */
export const POLLS_AT_ONCE = 20
/** Polls a second, as a share of the lane's messages a second. */
const POLL_SHARE = 0.25
/** Kept free of that share, for polls that leave a little early or travel a little slower than their neighbours. */
const POLL_SPARE = 0.05
/** A fast lane takes its polls in steps of this, instead of one each few milliseconds. */
const POLL_STEP_MS = 20

/**
 * The pace of a lane's status polls: at most a quarter of the `ratePerSecond` at which it may send. `spacingMs` is the
 * time between two polls; `inOneGo` of them may leave together if the lane then waits as many spacings.
 */
export function pollPace(ratePerSecond: number): { spacingMs: number; inOneGo: number } {
  const spacingMs = SECOND / (ratePerSecond * POLL_SHARE * (1 - POLL_SPARE))
  return { spacingMs, inOneGo: Math.max(1, Math.floor(POLL_STEP_MS / spacingMs)) }
}
