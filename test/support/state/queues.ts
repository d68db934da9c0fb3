// Queues that belong to no lane: the intake, which other services write into with BullMQ, and those of work in the background.
import { type Job, type JobsOptions, Queue, Worker } from 'bullmq'
import { POLL_QUEUE, pollJobId } from '../../../src/jobs/background.ts'
import {
  delayedUntil,
  INTAKE_PREFIX,
  intakeJobKey,
  intakeKeys,
  JOB,
  laneQueue,
  sharedDelayedKey,
} from '../../../src/lanes/bullmq/layout.ts'
import { openBullQueue } from '../../../src/lanes/bullmq/open-queue.ts'
import { redisNowMs } from '../../../src/redis/clock.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import { lanePrefix, sharedQueuePrefix } from '../../../src/redis/keys.ts'
import { stored } from './everything.ts'
import { recordAt, timesAt, valueAt } from './handles.ts'

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

/** Chunks of a campaign, as layout 1 had them in a queue of the lane: one waits, one waits for its time, one is in hand. */
export async function putChunks(redis: Redis, lane: number, run: number): Promise<void> {
  const name = `lane-${lane}-chunks`
  const queue = openBullQueue(redis, name, lanePrefix(lane))
  const chunk = (from: number, options: JobsOptions = {}) =>
    queue.add('chunk', { v: 1, run, from, count: 10 }, { jobId: `chunk_${run}_${from}_10_1_0`, ...options })
  await chunk(0)
  const worker = new Worker(name, null, { connection: redis, prefix: lanePrefix(lane) })
  worker.on('error', () => {})
  await worker.getNextJob('token', { block: false })
  await chunk(10)
  await chunk(20, { delay: 60_000 })
  await queue.rateLimit(60_000)
  await worker.close(true)
  await queue.close()
}

/** How many keys the lane has of such a queue. */
export const keysOfChunks = async (redis: Redis, lane: number): Promise<number> =>
  (await redis.keys(`${lanePrefix(lane)}:lane-${lane}-chunks:*`)).length

/** How many jobs wait in an intake queue. */
export const waitingInIntake = (redis: Redis, name: string) => redis.llen(intakeKeys(name).waiting)

/** An intake queue loses the job that was added last. */
export async function loseIntakeJob(redis: Redis, name: string): Promise<void> {
  const [id = ''] = await redis.lrange(intakeKeys(name).waiting, 0, 0)
  await redis.multi().lrem(intakeKeys(name).waiting, 0, id).del(intakeJobKey(name, id)).exec()
}

/** An intake queue into which another program writes behind BullMQ's back. */
export function intakeByHand(redis: Redis, name: string) {
  const { waiting, active } = intakeKeys(name)
  const ids = { succeeded: intakeJobKey(name, 'completed'), refused: intakeKeys(name).refused }
  return {
    /** Writes the record of a job, whatever is in it, and puts it nowhere. */
    write: (id: string, fields: Readonly<Record<string, string>>) => redis.hset(intakeJobKey(name, id), fields),
    /** An id stands in line, with or without a job. */
    async putInLine(id: string): Promise<void> {
      await redis.lpush(waiting, id)
      await redis.zadd(intakeJobKey(name, 'marker'), 0, '0')
    },
    /** Ids stand among those that a worker has in hand. */
    putInHand: (...given: string[]) => redis.lpush(active, ...given),
    hasEnded: async (id: string, how: keyof typeof ids): Promise<boolean> =>
      (await redis.zscore(ids[how], id)) !== null,
    /** Why it was refused; undefined while it was not. BullMQ writes the reason down before it ends the job. */
    async refusalOf(id: string): Promise<string | undefined> {
      if ((await redis.zscore(ids.refused, id)) === null) return undefined
      return (await redis.hget(intakeJobKey(name, id), JOB.failedReason)) ?? undefined
    },
  }
}

/** What the names of everything of an intake queue begin with. */
export const INTAKE_BEGINS = INTAKE_PREFIX

/** A queue of work in the background. */
export const sharedQueue = (redis: Redis, name: string): Queue =>
  new Queue(name, { connection: redis, prefix: sharedQueuePrefix(name) })

/** What the dashboard shows, opened to look at it: the queue of a lane, and those that all accounts share. */
export function queuesToSee(redis: Redis, lane: number, intake: string, background: readonly string[]) {
  const open = (name: string, prefix: string) => openBullQueue(redis, name, prefix, { toLook: true })
  const shared = background.map((name) => open(name, sharedQueuePrefix(name)))
  return { ofLane: open(laneQueue(lane), lanePrefix(lane)), shared: [open(intake, INTAKE_PREFIX), ...shared] }
}

/** Whether this is the name of what BullMQ writes down of what happens in a queue. */
export const isQueueLog = (name: string): boolean => name.endsWith(':events')

/** What stands beside the jobs of a queue. */
export const besideJobsOf = (redis: Redis, queue: Pick<Queue, 'toKey'>) => ({
  /** There while a worker has the job in hand. */
  lockOf: (id: string) => valueAt(redis, `${queue.toKey(id)}:lock`),
  /** There while something may be taken: it wakes a worker that waits. */
  marker: timesAt(redis, queue.toKey('marker')),
  /** There for as long as nobody else is to look for lost jobs. */
  look: valueAt(redis, queue.toKey('stalled-check')),
})

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
