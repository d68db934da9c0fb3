// How Workers of BullMQ are made and what a processor's result means to them. The only file that knows BullMQ's
// signals: a processor throws them for a job that waits or can never be run.
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Job as BullJob,
  Worker as BullWorker,
  DelayedError,
  type Processor,
  UnrecoverableError,
  type WorkerOptions,
} from 'bullmq'
import { waitAtMost } from '../../kernel/deadline.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { workerBackends } from './backend.ts'

/** A job as its processor gets it. */
export type Job = Pick<
  BullJob<unknown>,
  'id' | 'name' | 'data' | 'opts' | 'timestamp' | 'stalledCounter' | 'queueName' | 'parent' | 'parentKey' | 'updateData'
>

/** Processes the jobs of a queue. */
export type Worker = Pick<BullWorker, 'close' | 'concurrency' | 'on' | 'waitUntilReady'>

/** Delay before a job is run again that failed because of Redis. */
const AWAY_MS = 1_000
/** Delay before returning it to the queue is tried again. */
const AGAIN_MS = 250

/** A Worker that renews the locks of its jobs by a timer: BullMQ goes by the clock of the machine for that. */
class LockingWorker extends BullWorker {
  readonly #lockMs = this.opts.lockDuration ?? 0
  readonly #renewing = setInterval(() => this.#renew(), this.#lockMs / 4).unref()
  /** Id of a job that is being worked on → its token. */
  readonly #tokens = new Map<string, string>()
  /** Jobs that were there the last time already: the locks of all others are new. */
  #known: ReadonlySet<string> = new Set()

  #renew(): void {
    const old = [...this.#tokens].filter(([id]) => this.#known.has(id))
    this.#known = new Set(this.#tokens.keys())
    if (old.length === 0) return
    const [ids, tokens] = [old.map(([id]) => id), old.map(([, token]) => token)]
    // One that another worker has by now is not extended, and the end of its job finds that.
    this.extendJobLocks(ids, tokens, this.#lockMs).catch((error: Error) => this.emit('error', error))
  }

  override async processJob(...given: Parameters<BullWorker['processJob']>): ReturnType<BullWorker['processJob']> {
    const [{ id = '' }, token] = given
    this.#tokens.set(id, token)
    try {
      return await super.processJob(...given)
    } finally {
      // The same job may have been taken again meanwhile, by a run that holds it now.
      if (this.#tokens.get(id) === token) this.#tokens.delete(id)
    }
  }

  /**
   * A job is never given up because Redis refused something: BullMQ would keep it as failed once Redis takes that again.
   * It goes back to its queue, however many tries that takes; one that has lost its lock meanwhile is another worker's.
   */
  override async handleFailed(
    ...given: Parameters<BullWorker['handleFailed']>
  ): ReturnType<BullWorker['handleFailed']> {
    const [error, job, token, ...rest] = given
    if (!isRedisAway(error)) return super.handleFailed(...given)
    for (let isBack = false; !isBack; ) {
      isBack = await job.moveToDelayed(Date.now() + AWAY_MS, token).then(
        () => true,
        (refused: unknown) => !isRedisAway(refused) || this.closing !== undefined,
      )
      if (!isBack) await pause(AGAIN_MS)
    }
    return super.handleFailed(new DelayedError(), job, token, ...rest)
  }

  override async close(force?: boolean): Promise<void> {
    await super.close(force).finally(() => clearInterval(this.#renewing))
  }
}

/** Options of a Worker besides BullMQ's. */
type Settings = Omit<WorkerOptions, 'connection' | 'prefix'> & {
  concurrency: number
  lockDuration: number
  /** Runs before each check for jobs whose worker died; if it fails, that check is skipped. */
  beforeStalledCheck?: () => Promise<void>
}

/**
 * The one way to make a Worker. `onTrouble` gets its errors, most of which the connection has reported already. Each kind of job sets
 * how long a lock lasts and how often lost ones are checked for.
 */
export function openWorker(
  redis: Redis,
  { name, prefix }: { name: string; prefix: string },
  work: Processor,
  { beforeStalledCheck = async () => {}, ...settings }: Settings,
  onTrouble: (error: Error) => void,
): Worker {
  const options = { ...settings, skipLockRenewal: true, connection: redis, prefix }
  const worker = new LockingWorker(name, work, options, workerBackends(redis, beforeStalledCheck))
  worker.on('error', onTrouble)
  return worker
}

/** Takes no more jobs and waits for those in flight, at most for `limitMs`; other workers take over the rest. */
export async function closeWorker(worker: Worker, limitMs: number): Promise<void> {
  await waitAtMost(limitMs, worker.close())
}

/** How a job ends. */
export type OwnEnd =
  /** Finished, whatever the outcome of the message: see its record. An answer is kept with the finished job. */
  | { kind: 'done'; answer?: object }
  /** Only this job waits. */
  | { kind: 'waits'; ms: number }
  /** It can never be run: kept among the failed ones, with the reason, for inspection. */
  | { kind: 'dead_letter'; reason: string }

/** Applies an end. Resolves to the answer when the job is done and throws BullMQ's own signal otherwise. */
export async function endOwn(
  end: OwnEnd,
  job: Pick<BullJob, 'moveToDelayed'>,
  token: string | undefined,
): Promise<unknown> {
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
