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
