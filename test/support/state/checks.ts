// How long workers have announced that their checks are valid.
import { CHECK_GOOD_FOR_MS } from '../../../src/people/opt-outs/check-validity.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import { rootKeys } from '../../../src/redis/keys.ts'

/** As long as one that is late has announced, or as usual (ms). */
export async function checksValidMs(redis: Redis): Promise<number> {
  const announced = await redis.get(rootKeys.slowChecks)
  return announced === null ? CHECK_GOOD_FOR_MS : Number(announced)
}
