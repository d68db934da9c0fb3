// The queue of bulk moves, as a producer sees it: adding a move, and telling whether one is still to be done.
import { MOVE_JOB, MOVE_QUEUE, MOVE_RETRY, type MovePayload, movePayloadSchema } from '../../jobs/bulk-move.ts'
import type { Redis } from '../../redis/connect.ts'
import { sharedQueuePrefix } from '../../redis/keys.ts'
import { openQueue } from '../../redis/open-queue.ts'
import { within } from '../../redis/with-timeout.ts'

/** How long Redis may take before the caller is told that it is away: BullMQ itself would wait for ever. */
const LIMIT_MS = 2_500

/** Opens the queue on a connection that fails fast. */
export function openMoveQueue(redis: Redis) {
  const queue = openQueue(redis, MOVE_QUEUE, sharedQueuePrefix(MOVE_QUEUE))

  return {
    /** Adds a move; resolves once it is in Redis. Adding the same move again changes nothing. */
    async add(payload: MovePayload): Promise<void> {
      // While Redis is away BullMQ would wait for ever, and for one that hangs as well.
      if (redis.status !== 'ready') throw new Error('Connection is closed.')
      await within(LIMIT_MS, queue.add(MOVE_JOB, payload, { jobId: payload.move, ...MOVE_RETRY }))
    },

    /** Whether the account has a job of this id, and whether that job was given up. */
    async find(account: number, move: string): Promise<'waiting' | 'failed' | undefined> {
      if (redis.status !== 'ready') throw new Error('Connection is closed.')
      const job = await within(LIMIT_MS, queue.getJob(move))
      const payload = movePayloadSchema.safeParse(job?.data)
      if (job === undefined || !payload.success || payload.data.account !== account) return undefined
      return job.finishedOn !== undefined && job.failedReason ? 'failed' : 'waiting'
    },

    close: (): Promise<void> => queue.close(),
  }
}
