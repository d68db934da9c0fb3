// The gallery's clock.
import { redisNowMicros } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { galleryKeys } from '../../redis/keys.ts'

/**
 * Now, in microseconds since 1970. Redis' clock, because several producers write records of an account that are compared by
 * time.
 */
export const nowMicros = (redis: Redis, account: number): Promise<number> =>
  redisNowMicros(redis, galleryKeys(account).folders)
