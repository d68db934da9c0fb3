// The job `requeue`: requeues the messages that match its filter, page by page. Between pages it goes to the back of the queue if other
// jobs wait there, so that a long job delays none of them.

import type { Config } from '../../kernel/config.ts'
import type { Log } from '../../kernel/log.ts'
import { sharedDelayedKey, sharedWaitingKey } from '../../lanes/bullmq/layout.ts'
import { closeWorker, endOwn, type Job, type OwnEnd, openWorker } from '../../lanes/bullmq/worker.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { sharedQueuePrefix } from '../../redis/keys.ts'
import {
  closeRequeue,
  findRequeueJob,
  REQUEUE_QUEUE,
  type RequeueJob,
  requeuePayloadSchema,
  setRequeueState,
  totalOf,
} from './jobs.ts'
import { requeuePages } from './requeue-pages.ts'

/** Each works on a few pages at a time; more at once would keep Redis from sending messages. */
const CONCURRENCY = 2
/** A job waits this long when Redis is away or full. */
const REDIS_AWAY_MS = 1_000
const DAY_SECONDS = 86_400

/** Dependencies of requeue jobs. */
export interface RequeueDeps {
  redis: Redis
  config: Pick<Config, 'retentionMs' | 'validityMs'>
  log: Log
  queues: LaneQueues
}

/**
 * Starts processing requeue jobs, page by page. A job that is stopped, or whose worker dies, continues after its last page.
 */
export function startRequeues(deps: RequeueDeps) {
  const stopping = new AbortController()
  const worker = openWorker(
    deps.redis,
    { name: REQUEUE_QUEUE, prefix: sharedQueuePrefix(REQUEUE_QUEUE) },
    async (job, token) => endOwn(await workOn(deps, job, stopping.signal), job, token),
    {
      concurrency: CONCURRENCY,
      // A job whose worker died is taken by another within 3 s. A worker that stalls for a moment may lose its lock,
      // which is harmless: two may work on one job.
      lockDuration: 2_000,
      stalledInterval: 500,
      maxStalledCount: 100,
      // The job has a record of its own; finished ones are kept for the dashboard only.
      removeOnComplete: { age: DAY_SECONDS, count: 1_000, limit: 100 },
      removeOnFail: { age: 7 * DAY_SECONDS, count: 1_000, limit: 100 },
    },
    (error) => deps.log.debug({ err: error }, 'requeues.error'),
  )
  worker.on('failed', (job, error) => deps.log.error({ job: job?.id, err: error }, 'requeue.failed'))
  return {
    /** Jobs continue elsewhere after their current page; waits for that at most `limitMs`. */
    async stop(limitMs: number): Promise<void> {
      stopping.abort()
      await closeWorker(worker, limitMs)
    },
  }
}

async function workOn(deps: RequeueDeps, job: Job, stopped: AbortSignal): Promise<OwnEnd> {
  const payload = requeuePayloadSchema.safeParse(job.data)
  if (!payload.success) return { kind: 'dead_letter', reason: 'not a requeue job' }
  const id = payload.data.job
  try {
    const asked = await findRequeueJob(deps.redis, id)
    // Done before, or expired.
    if (asked === undefined || asked.state === 'done' || asked.state === 'failed') return { kind: 'done' }
    if (asked.state === 'waiting') await setRequeueState(deps.redis, id, 'running', await redisNowMs(deps.redis))
    const mayGoOn = async () => !stopped.aborted && !(await doOthersWait(deps.redis))
    if (!(await requeuePages(deps, id, asked, mayGoOn))) return { kind: 'waits', ms: 1 }
    await endJob(deps, id, asked, 'done')
    deps.log.info({ job: id, ...(await totalOf(deps.redis, id, asked)) }, 'requeue.done')
    return { kind: 'done' }
  } catch (error) {
    if (isRedisAway(error)) return { kind: 'waits', ms: REDIS_AWAY_MS }
    deps.log.error({ job: id, err: error }, 'requeue.broken')
    await endJob(deps, id, await findRequeueJob(deps.redis, id).catch(() => undefined), 'failed')
    return { kind: 'dead_letter', reason: 'it could not go on; the log of the worker has the cause' }
  }
}

/** Going to the back of the queue costs as much as half a page, so a job that is alone there goes on. */
async function doOthersWait(redis: Redis): Promise<boolean> {
  const [waiting, delayed] = await Promise.all([
    redis.llen(sharedWaitingKey(REQUEUE_QUEUE)),
    redis.zcard(sharedDelayedKey(REQUEUE_QUEUE)),
  ])
  return waiting + delayed > 0
}

/** The account's list of open jobs is updated as well; if the process dies in between, that list repairs itself. */
async function endJob(
  { redis }: RequeueDeps,
  id: string,
  job: RequeueJob | undefined,
  state: 'done' | 'failed',
): Promise<void> {
  await setRequeueState(redis, id, state, await redisNowMs(redis))
  if (job !== undefined) await closeRequeue(redis, job.account, id)
}
