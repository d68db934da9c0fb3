// Queues that belong to no lane: the intake, which other services write into with BullMQ, and those of work in the background.
import { type Job, type JobsOptions, Queue, UnrecoverableError, Worker } from 'bullmq'
import { POLL_QUEUE, pollJobId } from '../../../src/jobs/poll-status.ts'
import { delayedUntil, INTAKE_PREFIX, intakeJobKey, intakeKeys, sharedDelayedKey } from '../../../src/queue/layout.ts'
import { redisNowMs } from '../../../src/redis/clock.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import { sharedQueuePrefix } from '../../../src/redis/keys.ts'
import { stored } from '../stored.ts'
import { recordAt } from './handles.ts'

/** A job of an intake queue, as another service sees it. */
export type IntakeJob = Job
/** How another service may add one. */
export type IntakeOptions = JobsOptions

/** The intake queue as another service opens it, with BullMQ and the name alone. */
export function intakeQueue(url: string, name: string): Queue {
  const queue = new Queue(name, { connection: { url }, prefix: INTAKE_PREFIX })
  queue.on('error', () => {})
  return queue
}

/** The record of a job of an intake queue. */
export const intakeJobRecord = (redis: Redis, name: string, id: string) => recordAt(redis, intakeJobKey(name, id))

/** How many jobs wait in an intake queue. */
export const waitingInIntake = (redis: Redis, name: string) => redis.llen(intakeKeys(name).waiting)

/** An intake queue loses the job that was added last. */
export async function loseIntakeJob(redis: Redis, name: string): Promise<void> {
  const [id = ''] = await redis.lrange(intakeKeys(name).waiting, 0, 0)
  await redis.multi().lrem(intakeKeys(name).waiting, 0, id).del(intakeJobKey(name, id)).exec()
}

/** Serves an intake queue without Laneway: with what `answer` returns, or with its reason to refuse. */
export function serveIntakeQueue(
  url: string,
  queue: string,
  answer: (job: { name: string; data: unknown }) => Promise<{ failed: string } | { returned?: unknown }>,
): { close(): Promise<void> } {
  const worker = new Worker(
    queue,
    async ({ name, data }) => {
      const reply = await answer({ name, data })
      if ('failed' in reply) throw new UnrecoverableError(reply.failed)
      return reply.returned
    },
    { connection: { url }, concurrency: 5 },
  )
  worker.on('error', () => {})
  return { close: () => worker.close() }
}

/** A queue of work in the background. */
export const sharedQueue = (redis: Redis, name: string): Queue =>
  new Queue(name, { connection: redis, prefix: sharedQueuePrefix(name) })

/** How many jobs a queue has that are not over. */
export async function unfinishedIn(queue: Queue): Promise<number> {
  const { wait = 0, delayed = 0, active = 0 } = await queue.getJobCounts('wait', 'delayed', 'active')
  return wait + delayed + active
}

/** Until when (epoch ms) the next status poll of the lane waits; undefined when it does not. */
export async function pollDueOf(redis: Redis, lane: number): Promise<number | undefined> {
  const score = await redis.zscore(sharedDelayedKey(POLL_QUEUE), pollJobId(lane))
  return score === null ? undefined : delayedUntil(score)
}

/** Redis' time, as status polls see it. */
export const nowOfPolls = (redis: Redis): Promise<number> => redisNowMs(redis, sharedDelayedKey(POLL_QUEUE))

/** The list of polls that wait is lost; their jobs stay. */
export const loseListOfPolls = (redis: Redis) => redis.del(sharedDelayedKey(POLL_QUEUE))

/** Everything that status polls have in their queue is lost. */
export async function loseAllPolls(redis: Redis): Promise<void> {
  await redis.del(...Object.keys(await stored(redis, `${sharedQueuePrefix(POLL_QUEUE)}:${POLL_QUEUE}:*`)))
}
