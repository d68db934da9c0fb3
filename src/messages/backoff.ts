// How long to wait before trying again. Pure: counts in, milliseconds out.

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
export const POLL_FOR_MS = 86_400 * SECOND

/**
 * Wait until the next status poll of a message that is `ageMs` old since it was sent: half its age, from 1 s to 1 h.
 * Each gap is half again the one before, so a message of a day has cost about 40 polls and no stored counter.
 */
export function nextPollMs(ageMs: number): number {
  return Math.max(SECOND, Math.min(Math.round(ageMs / 2), 3_600 * SECOND))
}
