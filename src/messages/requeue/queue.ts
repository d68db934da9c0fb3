// The queue of jobs that send many messages again, as its callers see it.
import { REQUEUE_JOB, REQUEUE_QUEUE, type RequeuePayload } from '../../jobs/requeue.ts'
import { inTime, openQueue } from '../../queue/open-queue.ts'
import type { Redis } from '../../redis/connect.ts'
import { sharedQueuePrefix } from '../../redis/keys.ts'
import { createRequeueJob, type RequeueOrder } from './jobs.ts'

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
