// What errors of BullMQ mean, by their codes. What a processor throws is in worker.ts.
import { ErrorCode } from 'bullmq'

const MOVED_ON: ReadonlySet<unknown> = new Set([
  ...[ErrorCode.JobNotExist, ErrorCode.JobLockNotExist, ErrorCode.JobNotInState, ErrorCode.JobLockMismatch],
])

/** BullMQ did not do it because the job is gone, or elsewhere by now: somebody else was faster. */
export const hasJobMovedOn = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && MOVED_ON.has(error.code)
