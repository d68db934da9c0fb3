// Whoever takes what waits on a lane: a test by hand, a worker that it starts, and those that the service has.
import { type Job, Worker } from 'bullmq'
import { newAttemptId } from '../../../src/messages/message-id.ts'
import { deadLetter, nextJobs } from '../../../src/queue/lane/next-jobs.ts'
import { laneBacklogKeys } from '../../../src/queue/layout.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import { GatheringRedis } from '../../../src/redis/gathered-writes.ts'
import { readWorkers } from '../../../src/redis/heartbeats.ts'
import { laneReadersKey } from '../../../src/redis/keys.ts'

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

/** Makes a dead letter of what is next on the lane, as a worker that gives it up does; its name. */
export async function giveUpNext(redis: Redis, lane: number): Promise<string | undefined> {
  const { jobs } = await nextJobs(redis, lane, { by: 'a test', most: 1 })
  const [job] = jobs
  if (job) await deadLetter(redis, lane, { id: job.id, reason: 'it could not be processed', keptMs: 86_400_000 })
  return job?.id
}

/** Does `seen` with the next look of this process at what waits on the lane, in place of the look itself. */
function atNextLook(lane: number, seen: (look: () => unknown) => unknown): void {
  const send = GatheringRedis.prototype.sendCommand
  const { waiting } = laneBacklogKeys(lane)
  GatheringRedis.prototype.sendCommand = function (this: GatheringRedis, ...args) {
    const [{ name, args: given }] = args
    // A look has seven keys.
    if (name !== 'evalsha' || given[2] !== waiting || Number(given[1]) !== 7) return send.apply(this, args)
    GatheringRedis.prototype.sendCommand = send
    return seen(() => send.apply(this, args))
  }
}

/** It hangs for ever, as when its answer is lost. */
export const hangNextLook = (lane: number): void => atNextLook(lane, () => new Promise(() => {}))

/** Resolves once there was one. */
export const nextLook = (lane: number): Promise<void> =>
  new Promise((seen) => {
    atNextLook(lane, (look) => {
      seen()
      return look()
    })
  })

/** How many of these processes serve each lane, as their workers said last. */
export async function serversOf(redis: Redis, lanes: readonly number[], pids: readonly number[]): Promise<number[]> {
  const { alive } = await readWorkers(redis)
  const serving = alive.filter(({ facts }) => facts && pids.includes(facts.pid))
  return lanes.map((lane) => serving.filter(({ facts }) => facts?.serves.some((each) => each.lane === lane)).length)
}

/** What workers have read of the lane and not claimed was read so long ago that they are taken for dead. */
export async function readLongAgo(redis: Redis, lane: number): Promise<void> {
  const key = laneReadersKey(lane)
  for (const [worker, read] of Object.entries(await redis.hgetall(key))) {
    const [ms = '0', ...rest] = read.split(' ')
    await redis.hset(key, worker, [Number(ms) - 60_000, ...rest].join(' '))
  }
}
