// How Workers of BullMQ are made and what a processor's result means to them. The only file that knows BullMQ's
// signals: a processor throws them for a job that waits, goes back, or can never be run.
import {
  Worker as BullWorker,
  DelayedError,
  type Job,
  type Processor,
  type Queue,
  RateLimitError,
  UnrecoverableError,
  WaitingError,
  type WorkerOptions,
} from 'bullmq'
import type { Redis } from '../redis/connect.ts'
import { workerBackends } from './backend.ts'

export type { Job } from 'bullmq'

/** What works on the jobs of a queue. */
export type Worker = Pick<BullWorker, 'close' | 'concurrency' | 'on' | 'waitUntilReady'>

/** A Worker that keeps the locks of jobs in hand by a timer: BullMQ looks at the clock of the machine for it. */
class LockingWorker extends BullWorker {
  private readonly locks = keepLocks(this.opts.lockDuration ?? 0, (ids, tokens) => {
    // One that another worker has is not extended, and the end of its job finds that.
    this.extendJobLocks(ids, tokens, this.opts.lockDuration ?? 0).catch((error: Error) => this.emit('error', error))
  })

  override processJob(...given: Parameters<BullWorker['processJob']>): ReturnType<BullWorker['processJob']> {
    const [job, token] = given
    return this.locks.during(job.id ?? '', token, () => super.processJob(...given))
  }

  override async close(force?: boolean): Promise<void> {
    await super.close(force).finally(() => this.locks.stop())
  }
}

/**
 * Keeps the locks of jobs in hand, which last for `lockMs`. Stop it in the end.
 */
function keepLocks(lockMs: number, extend: (ids: string[], tokens: string[]) => void) {
  const tokens = new Map<string, string>()
  /** In hand the last time already: the locks of all others are new. */
  let known: ReadonlySet<string> = new Set()
  const timer = setInterval(() => {
    const old = [...tokens].filter(([id]) => known.has(id))
    known = new Set(tokens.keys())
    if (old.length > 0)
      extend(
        old.map(([id]) => id),
        old.map(([, token]) => token),
      )
  }, lockMs / 4).unref()
  return {
    async during<T>(id: string, token: string, work: () => Promise<T>): Promise<T> {
      tokens.set(id, token)
      try {
        return await work()
      } finally {
        // The same job may have been taken again meanwhile, by a run that holds it now.
        if (tokens.get(id) === token) tokens.delete(id)
      }
    },
    stop: (): void => clearInterval(timer),
  }
}

/**
 * The one way to make a Worker. `onTrouble` hears what the connection, which reports its own errors, has mostly
 * reported already. How long a lock lasts and how often the lost ones are looked for is for each kind of job to say; it
 * does `beforeStalledCheck` each time before, and when that fails, the look is left out.
 */
export function openWorker(
  redis: Redis,
  { name, prefix }: { name: string; prefix: string },
  work: Processor,
  {
    beforeStalledCheck = async () => {},
    ...settings
  }: Omit<WorkerOptions, 'connection' | 'prefix'> & {
    concurrency: number
    lockDuration: number
    beforeStalledCheck?: () => Promise<void>
  },
  onTrouble: (error: Error) => void,
): Worker {
  const options = { ...settings, skipLockRenewal: true, connection: redis, prefix }
  const worker = new LockingWorker(name, work, options, workerBackends({ redis, beforeStalledCheck }))
  worker.on('error', onTrouble)
  return worker
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
      // BullMQ takes the difference, and adds it to the time of Redis (backend.ts).
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
