// The queue of bulk moves, as a producer sees it: adding a move, and telling whether one is still to be done.
import { MOVE_JOB, MOVE_QUEUE, MOVE_RETRY, type MovePayload, movePayloadSchema } from '../../jobs/bulk-move.ts'
import { inTime, openQueue } from '../../queue/open-queue.ts'
import type { Redis } from '../../redis/connect.ts'
import { sharedQueuePrefix } from '../../redis/keys.ts'

/** Opens the queue on a connection that fails fast. */
export function openMoveQueue(redis: Redis) {
  const queue = openQueue(redis, MOVE_QUEUE, sharedQueuePrefix(MOVE_QUEUE))

  return {
    /** Adds a move; resolves once it is in Redis. Adding the same move again changes nothing. */
    async add(payload: MovePayload): Promise<void> {
      await inTime(redis, () => queue.add(MOVE_JOB, payload, { jobId: payload.move, ...MOVE_RETRY }))
    },

    /** Whether the account has a job of this id, and whether that job was given up. */
    async find(account: number, move: string): Promise<'waiting' | 'failed' | undefined> {
      const job = await inTime(redis, () => queue.getJob(move))
      const payload = movePayloadSchema.safeParse(job?.data)
      if (job === undefined || !payload.success || payload.data.account !== account) return undefined
      return job.finishedOn !== undefined && job.failedReason ? 'failed' : 'waiting'
    },

    close: (): Promise<void> => queue.close(),
  }
}
