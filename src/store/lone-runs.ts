// How often a job was run alone by a worker that did not live to tell the end.
import type { MessageId } from '../messages/message-id.ts'
import type { Redis } from './redis.ts'
import { loneRunsKey } from './redis-keys.ts'

/** Writes down that the job is about to be run alone, and returns how often that was so before. */
export async function beginLoneRun(redis: Redis, id: MessageId): Promise<number> {
  const before = Number((await redis.hget(loneRunsKey(id.lane), id.ulid)) ?? 0)
  // Not HINCRBY: a command whose reply was lost is sent again and would count twice.
  await redis.hset(loneRunsKey(id.lane), id.ulid, before + 1)
  return before
}

/** The run has ended, however. */
export async function endLoneRun(redis: Redis, id: MessageId): Promise<void> {
  await redis.hdel(loneRunsKey(id.lane), id.ulid)
}
