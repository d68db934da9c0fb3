// Our backend for BullMQ's Workers, passed in through BullMQ's own option. It makes them use Redis' clock: BullMQ uses the clock of the
// process to delay jobs, find due ones and wait for the next. With a clock an hour ahead, jobs ran an hour early.
import { type BackendFactory, createRedisBackend, RedisQueueBackend } from 'bullmq'
import { runningRedisClock } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'

type Given<Method extends 'execCommand' | 'moveToCompleted' | 'moveToDelayed' | 'moveToFailed' | 'moveToFinished'> =
  Parameters<RedisQueueBackend[Method]>

/**
 * BullMQ has no public seam for the time at which jobs are taken: `moveToActive` reads the clock of the machine on its
 * way to the script of that name, to which the time goes as this many arguments after the first key.
 */
const TAKING = { script: 'moveToActive', timeAt: 12 }

/** Makes the backends of Workers on this connection. */
export const workerBackends =
  (redis: Redis, beforeStalledCheck: () => Promise<void>): BackendFactory<RedisQueueBackend> =>
  (name, settings, how) =>
    new WorkerBackend(createRedisBackend(name, settings, how), name, settings, redis, beforeStalledCheck)

class WorkerBackend extends RedisQueueBackend {
  readonly #nowMs: () => Promise<number>
  readonly #beforeStalledCheck: () => Promise<void>

  /** Takes over the connections of `made`. */
  constructor(
    made: RedisQueueBackend,
    name: string,
    settings: Parameters<typeof createRedisBackend>[1],
    redis: Redis,
    beforeStalledCheck: () => Promise<void>,
  ) {
    super(made.connection, name, made.keys, (type) => made.toKey(type), settings, made.blockingConnection)
    // This backend reports their errors.
    made.on('error', () => {})
    this.#nowMs = runningRedisClock(redis, made.toKey(''))
    this.#beforeStalledCheck = beforeStalledCheck
  }

  override execCommand(...[client, script, given]: Given<'execCommand'>) {
    if (script !== TAKING.script) return super.execCommand(client, script, given)
    // A job that is taken a moment too early would only be delayed again: the time is never ahead of Redis.
    return this.#nowMs().then((nowMs) => super.execCommand(client, script, given.with(TAKING.timeAt, nowMs)))
  }

  override async moveToActive(token: string, name?: string) {
    return this.#onMachine(await super.moveToActive(token, name))
  }

  override async moveToFinished(...[id, given]: Given<'moveToFinished'>) {
    // As BullMQ itself finds the time in there.
    const inTime = given.with(this.moveToFinishedKeys.length + 1, await this.#nowMs())
    return this.#onMachine(await super.moveToFinished(id, inTime))
  }

  override async moveToDelayed(...[id, _time, ...how]: Given<'moveToDelayed'>) {
    const next = await super.moveToDelayed(id, await this.#nowMs(), ...how)
    return next && this.#onMachine(next)
  }

  override async waitForJob(seconds: number) {
    const woken = await super.waitForJob(seconds)
    // Always due now: the Worker then asks Redis, which returns how long it has to wait.
    return woken && { ...woken, score: 0 }
  }

  /**
   * The next job as a script returns it, with the time at which one is due: the Worker compares that with the
   * machine's.
   */
  async #onMachine([job, id, limitMs, dueMs]: readonly unknown[]) {
    const isDue = typeof dueMs === 'number' && dueMs > 0
    return [job, id, limitMs, isDue ? dueMs - (await this.#nowMs()) + Date.now() : dueMs]
  }

  // A Worker that has more jobs than its concurrency, since that was lowered, asks for no next job and takes the answer
  // for "the queue is empty": it slept for its `drainDelay` with jobs waiting. So it gets nothing that it did not
  // ask for.

  override async moveToCompleted(...given: Given<'moveToCompleted'>) {
    return asAsked(given[4], await super.moveToCompleted(...given))
  }

  override async moveToFailed(...given: Given<'moveToFailed'>) {
    return asAsked(given[4], await super.moveToFailed(...given))
  }

  override async moveStalledJobsToWait() {
    await this.#beforeStalledCheck()
    return super.moveStalledJobsToWait()
  }
}

const asAsked = <Moved extends object>(forNext: boolean, moved: Moved) =>
  forNext ? moved : { ...moved, result: undefined }
