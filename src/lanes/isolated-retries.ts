// How often a worker died while it ran a quarantined job, see worker/crash-quarantine.ts.
import type { MessageId } from '../messages/message-id.ts'
import type { Redis } from '../redis/connect.ts'
import { isolatedRetriesKey } from '../redis/keys.ts'
import { execOrThrow } from '../redis/transaction.ts'

/** A job that is taken off its lane after its worker died never tells its end; then this is it for all of the lane. */
const KEEP_MS = 7 * 86_400_000

/** How many workers died while they ran it. */
export async function isolatedCrashes(redis: Redis, id: MessageId): Promise<number> {
  return Number((await redis.hget(isolatedRetriesKey(id.lane), id.ulid)) ?? 0)
}

/** Writes down that the job is about to be run, and returns how often a worker died over that before. */
export async function beginIsolatedRetry(redis: Redis, id: MessageId): Promise<number> {
  const before = await isolatedCrashes(redis, id)
  // Not HINCRBY: a command whose reply was lost is sent again and would count twice.
  const key = isolatedRetriesKey(id.lane)
  await execOrThrow(
    redis
      .multi()
      .hset(key, id.ulid, before + 1)
      .pexpire(key, KEEP_MS),
  )
  return before
}

/** The run has ended, however. */
export async function endIsolatedRetry(redis: Redis, id: MessageId): Promise<void> {
  await redis.hdel(isolatedRetriesKey(id.lane), id.ulid)
}
