// The queue of jobs that send many messages again, as those see it who ask for them.
import { Queue } from 'bullmq'
import { REQUEUE_JOB, REQUEUE_QUEUE, type RequeuePayload } from '../jobs/requeue.ts'
import type { Redis } from '../redis/connect.ts'
import { sharedQueuePrefix } from '../redis/keys.ts'
import { createRequeueJob, type RequeueOrder } from './jobs.ts'

/** BullMQ cannot do without its event stream; nobody reads it, so it is kept as short as trimming allows. */
const EVENTS_KEPT = 100

export type RequeueQueue = ReturnType<typeof openRequeueQueue>

export function openRequeueQueue(redis: Redis) {
  const queue = new Queue<RequeuePayload>(REQUEUE_QUEUE, {
    connection: redis,
    prefix: sharedQueuePrefix(REQUEUE_QUEUE),
    streams: { events: { maxLen: EVENTS_KEPT } },
    // Otherwise a connection that breaks while the version is asked for leaves the queue unusable for good.
    skipVersionCheck: true,
  })
  // The connection reports its own errors once; the queue would report them again.
  queue.on('error', () => {})

  return {
    queue,

    /**
     * Has a worker do the job; resolves once that is certain. Dying before leaves a record that nobody was told of, and
     * doing it again with the same id makes what is missing.
     */
    async start(id: string, asked: { account: number; order: RequeueOrder; nowMs: number }): Promise<void> {
      // While Redis is away BullMQ would wait for ever.
      if (redis.status !== 'ready') throw new Error('Connection is closed.')
      await createRequeueJob(redis, id, asked)
      await queue.add(REQUEUE_JOB, { v: 1, job: id }, { jobId: id })
    },

    close: (): Promise<void> => queue.close(),
  }
}
