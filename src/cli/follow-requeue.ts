// Waits for a job that sends many messages again, and says on the terminal how far it is.
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { counted } from '../messages/fault.ts'
import { findRequeueJob, matchedOf, type RequeueCounts, totalOf } from '../messages/requeue/jobs.ts'
import type { Redis } from '../redis/connect.ts'
import { CliFailure } from './failure.ts'

const LOOK_MS = 100
const SAY_MS = 2_000
/** A worker takes a job up at once; without one the job waits. */
const NOBODY_MS = 5_000

/** The counts of the job once it is done. A job that nobody takes up is left to the next worker. */
export async function followRequeue(redis: Redis, job: string, stderr: Writable): Promise<RequeueCounts> {
  const begunAt = performance.now()
  let saidAt = begunAt
  for (;;) {
    const found = await findRequeueJob(redis, job)
    if (found === undefined || found.state === 'failed') {
      throw new CliFailure(`The job ${job} failed; see the log of the worker.`)
    }
    const counts = await totalOf(redis, job, found)
    if (found.state === 'done') return counts
    const now = performance.now()
    if (found.state === 'waiting' && now - begunAt > NOBODY_MS) {
      throw new CliFailure(`No worker is running. The job ${job} is queued and starts with the next one.`)
    }
    if (now - saidAt > SAY_MS) {
      saidAt = now
      stderr.write(`Requeued ${counts.requeued} of ${counted(matchedOf(counts), 'matching message')} so far.\n`)
    }
    await sleep(LOOK_MS)
  }
}
