// The queue of an endpoint: adding jobs, and a set that says when each queue must be checked next, so that nobody polls all of
// them. A job is added before its time is put into the set; a check first puts its own next time there and then reads the
// queue. So the time of a job that the check did not see comes after that, and is not lost.

import type { EventJob } from '../../jobs/background.ts'
import { delayedUntil, endpointDelayedKey, endpointQueue } from '../../lanes/bullmq/layout.ts'
import { openQueue, type Queue } from '../../lanes/bullmq/open-queue.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { endpointQueuePrefix, rootKeys } from '../../redis/keys.ts'

/** The endpoint that a queue belongs to. */
export interface QueueOwner {
  account: number
  id: string
}

const DAY_MS = 86_400_000
/** Deliveries that were given up are kept to be replayed. */
export const GIVEN_UP_KEPT = { age: 7 * 86_400, count: 1_000, limit: 100 }

/** Opens it. Close it. */
export const openEndpointQueue = (redis: Redis, { id }: QueueOwner): Queue<EventJob> =>
  openQueue<EventJob>(redis, endpointQueue(id), endpointQueuePrefix(id))

/** Does some work with the queue of an endpoint that this process does not deliver to. */
export async function withEndpointQueue<T>(
  redis: Redis,
  owner: QueueOwner,
  work: (queue: Queue<EventJob>) => Promise<T>,
): Promise<T> {
  const queue = openEndpointQueue(redis, owner)
  try {
    return await work(queue)
  } finally {
    await queue.close()
  }
}

const member = ({ account, id }: QueueOwner): string => `${account} ${id}`

/** How long (ms) a queue without a known due job is left alone. */
export const LOOK_AGAIN_MS = 60_000

/** Adds a job that is due after `waitMs`. Dying before the set knows of it leaves one that the next look finds. */
export async function addEventJob(
  redis: Redis,
  queue: Queue<EventJob>,
  owner: QueueOwner,
  job: EventJob,
  { waitMs, jobId }: { waitMs: number; jobId: string },
): Promise<void> {
  await queue.add(job.kind, job, {
    // BullMQ counts the delay from the one to the other.
    ...{ jobId, delay: waitMs, timestamp: await redisNowMs(redis, endpointDelayedKey(owner.id)) },
    removeOnComplete: { age: DAY_MS / 1_000, count: 100, limit: 100 },
    removeOnFail: GIVEN_UP_KEPT,
  })
  await noteDue(redis, owner, waitMs)
}

const inMs = async (redis: Redis, ms: number): Promise<number> => (await redisNowMs(redis, rootKeys.dueEndpoints)) + ms

/** The queue must be looked at in so many ms, or earlier if that is noted. */
export async function noteDue(redis: Redis, owner: QueueOwner, ms: number): Promise<void> {
  await redis.zadd(rootKeys.dueEndpoints, 'LT', await inMs(redis, ms), member(owner))
}

/** Each of these queues is looked at, at once if the set does not have it yet. */
export async function noteQueues(redis: Redis, owners: readonly QueueOwner[]): Promise<void> {
  if (owners.length === 0) return
  const nowMs = await inMs(redis, 0)
  await redis.zadd(rootKeys.dueEndpoints, 'NX', ...owners.flatMap((owner) => [nowMs, member(owner)]))
}

/** Queues that must be looked at now, at most `most`. The caller then notes when to look again. */
export async function dueQueues(redis: Redis, most: number): Promise<QueueOwner[]> {
  const now = await inMs(redis, 0)
  const found = await redis.zrange(rootKeys.dueEndpoints, '-inf', String(now), 'BYSCORE', 'LIMIT', 0, most)
  return found.map((text) => {
    const [account = '', id = ''] = text.split(' ')
    return { account: Number(account), id }
  })
}

/** The queue need not be looked at for so many ms, unless something is added from now on. */
export async function noteLookedAt(redis: Redis, owner: QueueOwner, ms: number): Promise<void> {
  await redis.zadd(rootKeys.dueEndpoints, await inMs(redis, ms), member(owner))
}

/** In how many ms the next job of the queue is due, 0 when one is; undefined when it holds none. */
export async function dueInMs(redis: Redis, queue: Queue<EventJob>, { id }: QueueOwner): Promise<number | undefined> {
  const { wait = 0, active = 0 } = await queue.getJobCounts('wait', 'active')
  if (wait + active > 0) return 0
  const delayed = endpointDelayedKey(id)
  const [, score] = await redis.zrange(delayed, 0, '0', 'WITHSCORES')
  return score === undefined ? undefined : Math.max(0, delayedUntil(score) - (await redisNowMs(redis, delayed)))
}

/** Removes the queue of an endpoint that is no more, with all jobs in it. */
export async function removeQueue(redis: Redis, owner: QueueOwner): Promise<void> {
  await withEndpointQueue(redis, owner, async (queue) => {
    await queue.obliterate({ force: true })
    await redis.zrem(rootKeys.dueEndpoints, member(owner))
    // A job may have been added by a process that did not know of the removal.
    if ((await dueInMs(redis, queue, owner)) !== undefined) await noteDue(redis, owner, 0)
  })
}
