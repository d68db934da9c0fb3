// How long a failed delivery waits, by the schedule of LANEWAY_EVENTS_RETRY_SECONDS, and when an endpoint has failed for too long. Pure.
import { DAY_MS } from '../../kernel/time-units.ts'

/** Jitter: share by which a wait is longer or shorter, so that retries do not bunch up. */
const JITTER = 0.2
/** An endpoint may ask for a wait of at most this (ms). */
const MOST_RETRY_AFTER_MS = DAY_MS
/** Waits (ms) before a failing endpoint is tried with new events; the last one repeats. */
const PROBE_MS = [1_000, 5_000, 15_000, 30_000, 60_000] as const
/** Without one success for so long (ms) an endpoint is disabled. */
export const DISABLED_AFTER_MS = 5 * DAY_MS

/**
 * How long (ms) a delivery waits that has failed `failures` times, by the schedule in ms; undefined when all its tries
 * are used up. The endpoint's own Retry-After (`retryAfterMs`) takes precedence. `random` is from 0 to 1.
 */
export function retryWaitMs(
  scheduleMs: readonly number[],
  failures: number,
  retryAfterMs: number | undefined,
  random: number,
): number | undefined {
  const wait = scheduleMs[failures - 1]
  if (wait === undefined) return undefined
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, MOST_RETRY_AFTER_MS)
  return Math.round(wait * (1 - JITTER + 2 * JITTER * random))
}

/** How long (ms) an endpoint that failed `inARow` times gets no new events. */
export const probeWaitMs = (inARow: number, retryAfterMs: number | undefined): number =>
  Math.max(PROBE_MS[Math.min(inARow, PROBE_MS.length) - 1] ?? 0, Math.min(retryAfterMs ?? 0, MOST_RETRY_AFTER_MS))
