// Opens BullMQ queues, promotes delayed jobs and retries failed ones.

import { Queue as BullQueue, ErrorCode } from 'bullmq'
import type { Redis } from '../../redis/connect.ts'

type Done = 'add' | 'addBulk' | 'pause' | 'resume' | 'promoteJobs' | 'remove' | 'obliterate' | 'setGlobalConcurrency'
type Asked = 'name' | 'getJob' | 'getJobs' | 'getJobCounts' | 'getJobState' | 'getRateLimitTtl'

/** The part of BullMQ's Queue that other code uses. */
export type Queue<Payload = unknown> = Pick<BullQueue<Payload>, Done | Asked | 'rateLimit' | 'close'>

/** The last that BullMQ knows; the first one is 1. */
export const LAST_PRIORITY = 2_097_151

/** BullMQ always writes its event stream; nobody reads it, so it is kept as short as trimming allows. */
const EVENTS_KEPT = 100

/** `toLook`: the queue's settings are left to those who write into it. */
export const openQueue = openBullQueue as <Payload>(...given: Parameters<typeof openBullQueue>) => Queue<Payload>

/** The same with all that BullMQ has. */
export function openBullQueue<Payload = unknown>(
  redis: Redis,
  name: string,
  prefix: string,
  { toLook = false }: { toLook?: boolean } = {},
): BullQueue<Payload> {
  const queue = new BullQueue<Payload>(name, {
    connection: redis,
    prefix,
    streams: { events: { maxLen: EVENTS_KEPT } },
    skipMetasUpdate: toLook,
    // Otherwise a connection that breaks while BullMQ reads the version breaks the queue for the lifetime of the process.
    skipVersionCheck: true,
  })
  // The connection reports its own errors once; each queue would report them again.
  queue.on('error', () => {})
  return queue
}

const MOVED_ON: ReadonlySet<unknown> = new Set([
  ...[ErrorCode.JobNotExist, ErrorCode.JobLockNotExist, ErrorCode.JobNotInState, ErrorCode.JobLockMismatch],
])

/** BullMQ did nothing because the job is gone or has moved: another process was faster. */
export const hasJobMovedOn = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && MOVED_ON.has(error.code)

/** Promotes a delayed job. False when it is not delayed, or gone. */
export async function promote(queue: Queue, id: string): Promise<boolean> {
  const job = await queue.getJob(id)
  return job !== undefined && unlessMovedOn(job.promote())
}

/**
 * Retries a failed job with this data. False when it has not failed, or another process was faster.
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
