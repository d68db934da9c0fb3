// A time as people and programs write it in a body: ISO 8601 with its zone.
import { z } from 'zod'
import { textUpTo } from './bounded-text.ts'

/** Nanoseconds and a zone have 35 characters; the standard would let fractions go on without end. */
const LENGTH_MAX = 40

/** A time with its zone, as epoch milliseconds. */
export const instantSchema = textUpTo(LENGTH_MAX)
  .pipe(
    z.iso.datetime({ offset: true, error: 'expected an ISO 8601 time with its zone, such as 2026-01-31T12:00:00Z' }),
  )
  .transform((time) => Date.parse(time))
  .meta({ format: 'date-time', description: 'ISO 8601 with its zone, such as `2026-01-31T12:00:00Z`.' })

const DAY_MS = 86_400_000

/** Furthest a message may be valid, and a send put off. */
export const VALIDITY_MAX_MS = 30 * DAY_MS

/**
 * Why a message cannot be valid until then; undefined when it can. A record lives for the retention from the first claim
 * on: what is valid for longer could be claimed again by somebody who does not know that it may have gone out.
 */
export function validityFault(untilMs: number, nowMs: number, retentionMs: number): string | undefined {
  if (untilMs <= nowMs) return 'must be in the future'
  const most = Math.min(VALIDITY_MAX_MS, retentionMs)
  return untilMs > nowMs + most ? `at most ${Math.floor(most / DAY_MS)} days ahead` : undefined
}
