// The retry times of failed deliveries, and when an endpoint has failed for too long. Pure.

/** Share by which a wait is longer or shorter at random, so that many do not come back at the same moment. */
const JITTER = 0.2
/** An endpoint may ask for a wait of at most this (ms). */
const MOST_ASKED_MS = 86_400_000
/** An endpoint that fails is tried with what is new after these waits (ms), and then after the last of them again and again. */
const PROBE_MS = [1_000, 5_000, 15_000, 30_000, 60_000] as const
/** Without one success for so long (ms) an endpoint is disabled. */
export const DISABLED_AFTER_MS = 5 * 86_400_000

/**
 * How long (ms) a delivery waits that has failed `failures` times, by the schedule in ms; undefined when all its tries
 * are used up. What the endpoint asks for (`askedMs`, Retry-After) wins. `random` is from 0 to 1.
 */
export function retryWaitMs(
  scheduleMs: readonly number[],
  failures: number,
  askedMs: number | undefined,
  random: number,
): number | undefined {
  const wait = scheduleMs[failures - 1]
  if (wait === undefined) return undefined
  if (askedMs !== undefined) return Math.min(askedMs, MOST_ASKED_MS)
  return Math.round(wait * (1 - JITTER + 2 * JITTER * random))
}

/** How long (ms) an endpoint that failed `inARow` times is left alone before it is tried with something new. */
export const probeWaitMs = (inARow: number, askedMs: number | undefined): number =>
  Math.max(PROBE_MS[Math.min(inARow, PROBE_MS.length) - 1] ?? 0, Math.min(askedMs ?? 0, MOST_ASKED_MS))
