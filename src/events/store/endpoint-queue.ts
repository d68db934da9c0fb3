// The queue of an endpoint: adding jobs, and a set with the time of the next check of each queue, so that nobody polls all of them. A job
// is added before its time goes into the set; a check first writes its own next time and then reads the queue. So the time of a job that
// the check missed is written later, and is not lost.

import type { EventJob } from '../../jobs/background.ts'
import { DAY_MS } from '../../kernel/time-units.ts'
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

/** Deliveries that were given up are kept to be replayed. */
export const GIVEN_UP_KEPT = { age: 7 * 86_400, count: 1_000, limit: 100 }

/** Opens it. Close it. */
export const openEndpointQueue = (redis: Redis, { id }: QueueOwner): Queue<EventJob> =>
  openQueue<EventJob>(redis, endpointQueue(id), endpointQueuePrefix(id))

/** Opens the queue of an endpoint for some work, in a process that does not deliver to it. */
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

/** How long (ms) a queue without a known due job is not checked. */
export const RECHECK_MS = 60_000

/** Adds a job that is due after `waitMs`. Dying before it is in the set leaves it to the next check. */
export async function addEventJob(
  redis: Redis,
  queue: Queue<EventJob>,
  owner: QueueOwner,
  job: EventJob,
  { waitMs, jobId }: { waitMs: number; jobId: string },
): Promise<void> {
  await queue.add(job.kind, job, {
    // BullMQ's delay counts from this time.
    ...{ jobId, delay: waitMs, timestamp: await redisNowMs(redis, endpointDelayedKey(owner.id)) },
    removeOnComplete: { age: DAY_MS / 1_000, count: 100, limit: 100 },
    removeOnFail: GIVEN_UP_KEPT,
  })
  await noteDue(redis, owner, waitMs)
}

const inMs = async (redis: Redis, ms: number): Promise<number> => (await redisNowMs(redis, rootKeys.dueEndpoints)) + ms

/** Schedules a check of the queue in so many ms, unless an earlier one is scheduled. */
export async function noteDue(redis: Redis, owner: QueueOwner, ms: number): Promise<void> {
  await redis.zadd(rootKeys.dueEndpoints, 'LT', await inMs(redis, ms), member(owner))
}

/** Makes sure that each of these queues is in the set; new ones are due now. */
export async function noteQueues(redis: Redis, owners: readonly QueueOwner[]): Promise<void> {
  if (owners.length === 0) return
  const nowMs = await inMs(redis, 0)
  await redis.zadd(rootKeys.dueEndpoints, 'NX', ...owners.flatMap((owner) => [nowMs, member(owner)]))
}

/** Queues that are due for a check, at most `most`. The caller then schedules the next check. */
export async function dueQueues(redis: Redis, most: number): Promise<QueueOwner[]> {
  const now = await inMs(redis, 0)
  const found = await redis.zrange(rootKeys.dueEndpoints, '-inf', String(now), 'BYSCORE', 'LIMIT', 0, most)
  return found.map((text) => {
    const [account = '', id = ''] = text.split(' ')
    return { account: Number(account), id }
  })
}

/** Postpones the check of the queue by so many ms, unless a job is added from now on. */
export async function postponeCheck(redis: Redis, owner: QueueOwner, ms: number): Promise<void> {
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

/** Removes the queue of a removed endpoint, with all jobs in it. */
export async function removeQueue(redis: Redis, owner: QueueOwner): Promise<void> {
  await withEndpointQueue(redis, owner, async (queue) => {
    await queue.obliterate({ force: true })
    await redis.zrem(rootKeys.dueEndpoints, member(owner))
    // A process that had not seen the removal may have added a job.
    if ((await dueInMs(redis, queue, owner)) !== undefined) await noteDue(redis, owner, 0)
  })
}
