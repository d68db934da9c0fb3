// When a sent message is polled, on a wire without webhooks, and how many polls a lane may make. Pure: ages and rates in, milliseconds out.
import { DAY_MS, HOUR_MS } from '../../kernel/time-units.ts'

const SECOND = 1_000

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
