// A time as people and programs write it in a body: ISO 8601 with its zone.
import { z } from 'zod'
import { textUpTo } from './bounded.ts'
import { DAY_MS } from './time-units.ts'

/** Nanoseconds and a zone have 35 characters; the standard would let fractions go on without end. */
const LENGTH_MAX = 40

/** A time with its zone, as epoch milliseconds. */
export const instantSchema = textUpTo(LENGTH_MAX)
  .pipe(
    z.iso.datetime({ offset: true, error: 'expected an ISO 8601 time with its zone, such as 2026-01-31T12:00:00Z' }),
  )
  .transform((time) => Date.parse(time))
  .meta({ format: 'date-time', description: 'ISO 8601 with its zone, such as `2026-01-31T12:00:00Z`.' })

/** Epoch ms as ISO 8601 in UTC, with milliseconds. */
export const iso = (ms: number): string => new Date(ms).toISOString()

/** The same; null where there is no time. */
export const isoOrNull = (ms: number | undefined): string | null => (ms === undefined ? null : iso(ms))

/** Longest validity of a message, and longest delay of a send. */
export const VALIDITY_MAX_MS = 30 * DAY_MS

/** Why a send cannot be delayed until then; undefined when it can. */
export function sendAtFault(sendAtMs: number, nowMs: number): string | undefined {
  if (sendAtMs <= nowMs) return 'must be in the future'
  return sendAtMs > nowMs + VALIDITY_MAX_MS ? `at most ${VALIDITY_MAX_MS / DAY_MS} days ahead` : undefined
}

/**
 * Why a message cannot be valid until then; undefined when it can. A record lives for the retention from the first claim, which is
 * at `sendAtMs` at the earliest. A message valid for longer could be claimed again after its record is gone, although it was sent.
 */
export function validityFault(
  untilMs: number,
  nowMs: number,
  retentionMs: number,
  sendAtMs = nowMs,
): string | undefined {
  if (untilMs <= nowMs) return 'must be in the future'
  if (untilMs <= sendAtMs) return 'must be after send_at'
  const most = Math.min(VALIDITY_MAX_MS, retentionMs)
  return untilMs > sendAtMs + most ? `at most ${Math.floor(most / DAY_MS)} days ahead` : undefined
}
