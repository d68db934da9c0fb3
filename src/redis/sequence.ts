// Gives out integer ids. A resent INCR only leaves a gap, so it is safe over a lost connection.
import type { Redis } from './connect.ts'
import { rootKeys } from './keys.ts'

export type Sequence = 'account' | 'lane' | 'folder' | 'file' | 'tag' | 'contact' | 'membership' | 'campaign'

/** The next id, from 1. With `count`, reserves that many and returns the first of them. */
export async function nextId(redis: Redis, sequence: Sequence, count = 1): Promise<number> {
  const last = await redis.hincrby(rootKeys.sequences, sequence, count)
  return last - count + 1
}
