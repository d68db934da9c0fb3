// The queue of requeue jobs and the bound on open ones per account. A job may go through the account's whole history and the
// workers take turns among all jobs, so an account with many would delay everybody else's.

import { z } from 'zod'
import { openQueue } from '../../queue/open-queue.ts'
import type { Redis } from '../../redis/connect.ts'
import { inTime } from '../../redis/errors.ts'
import { openRequeuesKey, sharedQueuePrefix } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { createRequeueJob, findRequeueJob, KEEP_MS, type RequeueOrder } from './jobs.ts'

export type RequeueQueue = ReturnType<typeof openRequeueQueue>

/**
 * The queue that requeue jobs are written into. `start` rejects with a RedisUnavailableError in time when Redis is
 * away.
 */
export function openRequeueQueue(redis: Redis) {
  const queue = openQueue<RequeuePayload>(redis, REQUEUE_QUEUE, sharedQueuePrefix(REQUEUE_QUEUE))

  return {
    queue,

    /**
     * Has a worker do the job; resolves once that is certain. Dying before leaves a record whose id nobody was given,
     * and doing it again with the same id makes what is missing.
     */
    async start(id: string, asked: { account: number; order: RequeueOrder; nowMs: number }): Promise<void> {
      await inTime(redis, async () => {
        await createRequeueJob(redis, id, asked)
        await queue.add(REQUEUE_JOB, { v: 1, job: id }, { jobId: id })
      })
    },

    close: (): Promise<void> => queue.close(),
  }
}

/** More have no use: one filter finds as much as five. */
export const MOST_OPEN = 5
/** One that was counted and has no record after this long was never begun: its process died in between. */
const BEGUN_WITHIN_MS = 60_000

const openScript = defineScript(import.meta.url, 'requeue-open')

/**
 * Counts the job among the account's open ones; false when it has too many. One that is open already, or was, is taken
 * again. Dying after this leaves a name that stands for no job; it is dropped when its place is needed.
 */
export async function openRequeue(redis: Redis, account: number, job: string, nowMs: number): Promise<boolean> {
  if ((await findRequeueJob(redis, job)) !== undefined) return true
  const args = { job, nowMs, mostOpen: MOST_OPEN, keepMs: KEEP_MS }
  const open = async () => (await openScript(redis, { open: openRequeuesKey(account) }, args)) === 1
  if (await open()) return true
  await dropEnded(redis, account, nowMs)
  return open()
}

/** The job is done. Should the process die before this, it is dropped when its place is needed. */
export async function closeRequeue(redis: Redis, account: number, job: string): Promise<void> {
  await redis.zrem(openRequeuesKey(account), job)
}

async function dropEnded(redis: Redis, account: number, nowMs: number): Promise<void> {
  const names = await redis.zrange(openRequeuesKey(account), 0, '-1', 'WITHSCORES')
  for (let i = 0; i < names.length; i += 2) {
    const job = names[i] ?? ''
    const found = await findRequeueJob(redis, job)
    const wasNeverBegun = found === undefined && nowMs - Number(names[i + 1]) > BEGUN_WITHIN_MS
    if (wasNeverBegun || found?.state === 'done' || found?.state === 'failed') await closeRequeue(redis, account, job)
  }
}

export const REQUEUE_QUEUE = 'requeues'
const REQUEUE_JOB = 'requeue'

export const requeuePayloadSchema = z.object({ v: z.literal(1), job: z.string().min(1).max(40) })
export type RequeuePayload = z.infer<typeof requeuePayloadSchema>
