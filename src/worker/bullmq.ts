// What a processor's result means to BullMQ. The only file that knows BullMQ's errors: by them a processor tells it
// that a job waits, goes back, or is beyond repair.
import { DelayedError, type Job, type Queue, RateLimitError, UnrecoverableError } from 'bullmq'

/** What becomes of a job after its processor ran. */
export type JobEnd =
  /** Finished, whatever became of the message: the record tells. */
  | { kind: 'done' }
  /** The whole lane waits; the job goes back to the front and keeps its place. */
  | { kind: 'lane_waits'; ms: number }
  /** Only this job waits. */
  | { kind: 'waits'; ms: number }
  /** It can never be run: kept among the failed ones, with the reason, for inspection. */
  | { kind: 'unusable'; reason: string }

/** Carries an end out. Returns when the job is done and throws BullMQ's own signal otherwise. */
export async function endJob(end: JobEnd, job: Job, token: string | undefined, queue: Queue): Promise<void> {
  switch (end.kind) {
    case 'done':
      return
    case 'lane_waits': {
      // rateLimit overwrites a longer wait that another message of the lane has set a moment ago.
      const running = await queue.getRateLimitTtl()
      if (running < end.ms) await queue.rateLimit(end.ms)
      throw new RateLimitError()
    }
    case 'waits':
      await job.moveToDelayed(Date.now() + end.ms, token)
      throw new DelayedError()
    case 'unusable':
      throw beyondRepair(end.reason)
  }
}

/** What a processor throws for a job that can never be run: it fails at once and is kept, with the reason. */
export const beyondRepair = (reason: string): Error => new UnrecoverableError(reason)
