// Ticks at which a process begins what may wait for a moment, for all its lanes: what they write to Redis then leaves in one write, and
// Redis syncs its file once for all of it. A sync costs Redis as much as five messages.

/** Between two of them (ms). More of them would hold up what is to leave in between: all lanes work at once. */
const TICK_MS = 50

/** The last shared tick before `at`, where it is still to come; `at` itself where it is not. Both on the clock of `performance.now()`. */
export function sharedTickBefore(at: number, now = performance.now()): number {
  const tick = Math.floor(at / TICK_MS) * TICK_MS
  return tick > now ? tick : at
}
