// Whoever takes what waits on a lane: a test by hand, a worker that it starts, and those that the service has.
import { type Job, Worker } from 'bullmq'
import { newAttemptId, parseMessageId } from '../../../src/messages/message-id.ts'
import { laneJobLockKey, laneQueue } from '../../../src/redis/bullmq-layout.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import { lanePrefix } from '../../../src/redis/keys.ts'
import { openQueue } from '../../../src/redis/open-queue.ts'
import { endOwn, openWorker } from '../../../src/worker/bullmq.ts'
import { finishTogether } from '../../../src/worker/finish-together.ts'

/** Whether a worker has the job of the message in its hands. */
export const isInHand = async (redis: Redis, name: string): Promise<boolean> =>
  (await redis.exists(laneJobLockKey(parseMessageId(name)?.lane ?? 0, name))) === 1

/** Does for each message that waits on the lane what a worker does; those that are done leave the lane. */
export async function workEachWaiting(
  redis: Redis,
  lane: number,
  work: (job: Job) => Promise<{ kind: string }>,
): Promise<void> {
  const queue = openQueue(redis, laneQueue(lane), lanePrefix(lane))
  try {
    for (const job of await queue.getJobs(['wait', 'prioritized', 'delayed'])) {
      if (job !== undefined && (await work(job)).kind === 'done') await queue.remove(job.id ?? '')
    }
  } finally {
    await queue.close()
  }
}

/** A job that a test has in hand, as a worker has it. */
export interface InHand {
  name: string
  data: unknown
  finish(): Promise<unknown>
  giveBack(): Promise<unknown>
  /** It becomes a dead letter. */
  giveUp(reason: string): Promise<unknown>
}

/** Takes jobs of a queue one by one; what `next` has taken is in hand until it is ended. */
export function takerOf(redis: Redis, name: string, prefix: string) {
  const worker = new Worker(name, null, { connection: redis, prefix, removeOnComplete: { count: 0 } })
  worker.on('error', () => {})
  const inHand = (job: Job, token: string): InHand => ({
    name: job.id ?? '',
    data: job.data,
    finish: () => job.moveToCompleted('', token, false),
    giveBack: () => job.moveToWait(token),
    giveUp: (reason) => job.moveToFailed(new Error(reason), token),
  })
  return {
    /** What is next on the lane; undefined when nothing may be taken. */
    async next(): Promise<InHand | undefined> {
      const token = newAttemptId()
      const job = await worker.getNextJob(token, { block: false })
      return job && inHand(job, token)
    },
    close: () => worker.close(),
  }
}

/** Takes messages of the lane by hand. */
export const takeByHand = (redis: Redis, lane: number) => takerOf(redis, laneQueue(lane), lanePrefix(lane))

/** Makes a dead letter of what is next on the lane, as a worker that gives it up does; its name. */
export async function giveUpNext(redis: Redis, lane: number): Promise<string | undefined> {
  const taker = takeByHand(redis, lane)
  const job = await taker.next()
  await job?.giveUp('it could not be processed')
  await taker.close()
  return job?.name
}

/** What becomes of a message that was taken: it is done, or waits for so long. */
export type WorkedEnd = { kind: 'done' } | { kind: 'waits'; ms: number }

/** Works on the lane as a worker does, until it is closed. */
export function workOn(
  redis: Redis,
  lane: number,
  { concurrency, lockMs, lookForLostMs }: { concurrency: number; lockMs: number; lookForLostMs?: number },
  work: (name: string) => Promise<WorkedEnd>,
): { close(): Promise<void> } {
  const worker = openWorker(
    redis,
    { name: laneQueue(lane), prefix: lanePrefix(lane) },
    async (job, token) => endOwn(await work(job.id ?? ''), job, token),
    {
      ...{ concurrency, lockDuration: lockMs, removeOnComplete: { count: 0 } },
      ...(lookForLostMs !== undefined && { stalledInterval: lookForLostMs }),
    },
    () => {},
  )
  finishTogether(worker, redis, { lane, lockMs })
  return { close: () => worker.close() }
}

/** Sees which workers of this process begin to work on which lane, from now on until `stop`. */
export function seeWorkers() {
  const begun: Worker[] = []
  const run = Worker.prototype.run
  Worker.prototype.run = function (this: Worker) {
    begun.push(this)
    return run.call(this)
  }
  const of = (lane: number) => begun.filter(({ name }) => name === laneQueue(lane))
  return {
    countOn: (lane: number) => of(lane).length,
    /** They take nothing any more, and nobody is told. */
    silence: (lane: number) => Promise.all(of(lane).map((worker) => worker.pause(true))),
    stop() {
      Worker.prototype.run = run
    },
  }
}

/** Of the connections that Redis lists, how many wait for work of the lane: one of each worker that serves it. */
export const connectionsFor = (clients: string, lane: number): number =>
  clients.split(`name=${lanePrefix(lane)}:`).length - 1
