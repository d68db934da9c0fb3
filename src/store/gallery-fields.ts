// Fields that the gallery's records have in common, as they stand in Redis, and its clock.
import { z } from 'zod'
import type { Redis } from './redis.ts'

export const idField = z.coerce.number<string>().int().positive()

/** Microseconds since 1970, by the clock of Redis. */
export const timeField = z.coerce.number<string>().int().positive()

/** An id or a time that may be empty, which reads as null. */
export const optionalField = z.union([z.literal('').transform(() => null), idField])

/** Now, in microseconds since 1970. Redis' clock, because several producers write records that are compared by time. */
export async function nowMicros(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time()
  return Number(seconds) * 1_000_000 + Number(micros)
}
