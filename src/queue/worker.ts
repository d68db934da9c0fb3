// How Workers of BullMQ are made and what a processor's result means to them. The only file that knows BullMQ's
// signals: a processor throws them for a job that waits, goes back, or can never be run.
import {
  DelayedError,
  type Job,
  type Processor,
  type Queue,
  RateLimitError,
  UnrecoverableError,
  WaitingError,
  Worker,
  type WorkerOptions,
} from 'bullmq'
import type { Redis } from '../redis/connect.ts'
import { goByRedisClock, keepLocks } from './clock.ts'

export type { Job, Worker } from 'bullmq'

/**
 * A Worker whose concurrency may be lowered while it works. BullMQ asks for no next job when one ends while more are in
 * hand than that, takes the answer that it did not ask for as "the queue is empty, and there is no rate limit", and
 * blocks for its `drainDelay`: a lane of 80/s got through eight jobs in 5 s whenever the last of them ended together.
 * So it always asks; whoever lowers the concurrency holds what is too much back by itself.
 */
class LaneWorker extends Worker {
  private readonly locks = keepLocks(this.opts.lockDuration ?? 0, (ids, tokens) => {
    // One that another worker has is not extended, and the end of its job finds that.
    this.extendJobLocks(ids, tokens, this.opts.lockDuration ?? 0).catch((error: Error) => this.emit('error', error))
  })

  override processJob(job: Job, token: string): ReturnType<Worker['processJob']> {
    return this.locks.during(job.id ?? '', token, () => super.processJob(job, token, () => true))
  }

  override async close(force?: boolean): Promise<void> {
    await super.close(force).finally(() => this.locks.stop())
  }
}

/**
 * The one way to make a Worker. `onTrouble` hears what the connection, which reports its own errors, has mostly
 * reported already. How long a lock lasts and how often the lost ones are looked for is for each kind of job to say.
 */
export function openWorker(
  redis: Redis,
  { name, prefix }: { name: string; prefix: string },
  work: Processor,
  settings: Omit<WorkerOptions, 'connection' | 'prefix'> & { concurrency: number; lockDuration: number },
  onTrouble: (error: Error) => void,
): LaneWorker {
  const worker = new LaneWorker(name, work, { ...settings, skipLockRenewal: true, connection: redis, prefix })
  goByRedisClock(worker, redis)
  worker.on('error', onTrouble)
  return worker
}

/** Runs `work` each time before BullMQ looks for jobs whose worker died; when it fails, that look is left out. */
export function beforeStalledCheck({ backend }: LaneWorker, work: () => Promise<void>): void {
  const check = backend.moveStalledJobsToWait.bind(backend)
  backend.moveStalledJobsToWait = async () => {
    await work()
    return check()
  }
}

/** Takes no more jobs and waits for those in flight, at most for `limitMs`; other workers take up what is left then. */
export async function closeWorker(worker: Worker, limitMs: number): Promise<void> {
  await Promise.race([worker.close(), new Promise((resolve) => setTimeout(resolve, limitMs).unref())])
}

/** What becomes of a job after its processor ran, when it concerns this job alone. */
export type OwnEnd =
  /** Finished, whatever became of the message: see its record. An answer is kept with the finished job. */
  | { kind: 'done'; answer?: object }
  /** Only this job waits. */
  | { kind: 'waits'; ms: number }
  /** It can never be run: kept among the failed ones, with the reason, for inspection. */
  | { kind: 'dead_letter'; reason: string }

export type JobEnd =
  | OwnEnd
  /** The whole lane waits; the job goes back to the front and keeps its place. */
  | { kind: 'lane_waits'; ms: number }
  /** Finished, and the whole lane waits. */
  | { kind: 'done_lane_waits'; ms: number }

/** Longest that a lane fetches nothing; after that one job asks whether the cooldown is over. */
const MOST_LIMITED_MS = 30_000

/** Carries an end out. Resolves to the answer when the job is done and throws BullMQ's own signal otherwise. */
export async function endJob(end: JobEnd, job: Job, token: string | undefined, queue: Queue): Promise<unknown> {
  if (end.kind !== 'lane_waits' && end.kind !== 'done_lane_waits') return endOwn(end, job, token)
  // The cooldown itself is in Redis and asked by every claim; this keeps the lane from fetching jobs meanwhile. A
  // person may end the cooldown between the claim and this line: then it must not last for an hour.
  const ms = Math.min(end.ms, MOST_LIMITED_MS)
  // rateLimit overwrites a longer wait that another message of the lane has set a moment ago, and any window.
  const running = await queue.getRateLimitTtl(Number.MAX_SAFE_INTEGER)
  if (running < ms) await queue.rateLimit(ms)
  if (end.kind === 'lane_waits') throw new RateLimitError()
  return undefined
}

/** Puts a job back to the front of its queue; another worker takes it up at once. */
export async function giveBack(job: Job, token: string | undefined): Promise<never> {
  await job.moveToWait(token)
  throw new WaitingError()
}

/** Carries an end out on a queue that never waits as a whole. */
export async function endOwn(end: OwnEnd, job: Job, token: string | undefined): Promise<unknown> {
  switch (end.kind) {
    case 'done':
      return end.answer
    case 'waits':
      // BullMQ takes the difference, and adds it to the time of Redis (clock.ts).
      await job.moveToDelayed(Date.now() + end.ms, token)
      throw new DelayedError()
    case 'dead_letter':
      throw unrecoverable(end.reason)
  }
}

/**
 * What a processor throws for a job that can never be run: it fails at once and is kept, with the reason. BullMQ
 * would keep the stack trace as well, which says nothing here and shows paths of the server.
 */
export const unrecoverable = (reason: string): Error => Object.assign(new UnrecoverableError(reason), { stack: '' })
