// The gallery's clock.
import type { Redis } from '../../redis/connect.ts'

/** Now, in microseconds since 1970. Redis' clock, because several producers write records that are compared by time. */
export async function nowMicros(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time()
  return Number(seconds) * 1_000_000 + Number(micros)
}
