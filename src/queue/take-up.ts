// Has jobs taken up now that wait for their time or were given up, and tells which of BullMQ's errors mean that
// somebody else was faster.
import { ErrorCode } from 'bullmq'
import type { Queue } from './open-queue.ts'

const MOVED_ON: ReadonlySet<unknown> = new Set([
  ...[ErrorCode.JobNotExist, ErrorCode.JobLockNotExist, ErrorCode.JobNotInState, ErrorCode.JobLockMismatch],
])

/** BullMQ did not do it because the job is gone, or elsewhere by now: somebody else was faster. */
export const hasJobMovedOn = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && MOVED_ON.has(error.code)

/** Has a job that waits for its time taken up now. False when it does not wait, or is gone. */
export async function promote(queue: Queue, id: string): Promise<boolean> {
  const job = await queue.getJob(id)
  return job !== undefined && unlessMovedOn(job.promote())
}

/**
 * Has a job that was given up taken up again, with this data. False when it was not given up, or somebody else was
 * faster.
 */
export async function retry(queue: Queue, id: string, data: object): Promise<boolean> {
  const job = await queue.getJob(id)
  if (job === undefined || !(await job.isFailed())) return false
  return unlessMovedOn(job.updateData(data).then(() => job.retry('failed')))
}

const unlessMovedOn = (moving: Promise<void>): Promise<boolean> =>
  moving.then(
    () => true,
    (error: unknown) => {
      if (!hasJobMovedOn(error)) throw error
      return false
    },
  )
