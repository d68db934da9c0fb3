// Heartbeats of workers, every few seconds. Times are Redis's own, so that the clocks of the machines do not matter.
import { z } from 'zod'
import { HOUR_MS } from '../kernel/time-units.ts'
import { redisNowMs } from './clock.ts'
import type { Redis } from './connect.ts'
import { rootKeys, workerKey } from './keys.ts'
import { execOrThrow } from './records.ts'

/** How often a worker reports that it is alive. */
export const HEARTBEAT_MS = 3_000
/** A worker that has not done so for this long is taken for dead. */
export const ALIVE_FOR_MS = 10_000
/** So long after its last heartbeat a worker that did not stop in order is still known. */
const LOST_KEPT_MS = HOUR_MS

/**
 * What keeps a lane from having more in flight in one worker: its `pace`; `memory`, all that the worker may have in
 * flight; `share`, the lane's equal part of that; `answer_time`, all that its pace and the answer time call for.
 */
const WORKER_BOUNDS = ['pace', 'memory', 'share', 'answer_time'] as const
export type WorkerBound = (typeof WORKER_BOUNDS)[number]

/** What a worker has in flight of one lane. */
export type ServedLane = z.infer<typeof servedSchema>
const servedSchema = z.object({
  lane: z.number().int(),
  /** Messages that are claimed or in flight. */
  inFlight: z.number().int().nonnegative(),
  /** How long the provider takes to answer, lately (ms); missing before the first answer. */
  answerMs: z.number().optional(),
  /** The same by quantiles, of the last 30 to 60 s; missing without an answer in that time. */
  p50Ms: z.number().nonnegative().optional(),
  p99Ms: z.number().nonnegative().optional(),
  /** Missing when nothing does; one that a newer release has added counts as none. */
  bound: z.enum(WORKER_BOUNDS).optional().catch(undefined),
})

/** A worker's report on itself. */
export type WorkerFacts = z.infer<typeof factsSchema>
const factsSchema = z.object({
  host: z.string(),
  pid: z.number().int(),
  /** Epoch ms, by its own clock. */
  startedAt: z.number(),
  version: z.string(),
  /** The version of Node that runs it; missing of an older release. */
  node: z.string().optional(),
  lanes: z.number().int().nonnegative(),
  /** Messages of all lanes that are claimed or in flight, and how many may be. */
  inFlight: z.number().int().nonnegative().optional(),
  maxInFlight: z.number().int().positive().optional(),
  /** The lanes that it has open. */
  serves: z.array(servedSchema).default([]),
})

/**
 * Says that the worker is alive, and takes workers off the list that have not said so for LOST_KEPT_MS. Rejects when
 * Redis is away or full.
 */
export async function sendHeartbeat(redis: Redis, worker: string, facts?: WorkerFacts): Promise<void> {
  const now = await redisNowMs(redis, rootKeys.workers)
  if (facts) await redis.set(workerKey(worker), JSON.stringify(facts), 'PX', LOST_KEPT_MS)
  await execOrThrow(
    redis
      .multi()
      .zadd(rootKeys.workers, now, worker)
      .zremrangebyscore(rootKeys.workers, '-inf', now - LOST_KEPT_MS),
  )
}

/** Takes a worker that stops in order off the list at once. */
export async function removeHeartbeat(redis: Redis, worker: string): Promise<void> {
  await redis.zrem(rootKeys.workers, worker)
  await redis.del(workerKey(worker))
}

/** A worker: when it last said that it is alive (ms ago), and what it said of itself; nothing of one that said nothing. */
export interface KnownWorker {
  id: string
  seenMs: number
  facts: WorkerFacts | undefined
}

/** Workers that are shown at most, of those that are alive and of those that are not. */
const SHOWN_MAX = 500
const LOST_SHOWN_MAX = 20

/** So many of the workers last reported between two times. */
async function heardOf(redis: Redis, now: number, from: number | string, to: number, most: number) {
  const found = await redis.zrevrangebyscore(rootKeys.workers, from, to, 'WITHSCORES', 'LIMIT', 0, most)
  const ids = found.filter((_, i) => i % 2 === 0)
  return Promise.all(
    ids.map(async (id, i): Promise<KnownWorker> => {
      const facts = factsSchema.safeParse(JSON.parse((await redis.get(workerKey(id))) ?? 'null')).data
      return { id, seenMs: Math.max(0, now - Number(found[2 * i + 1])), facts }
    }),
  )
}

/**
 * The workers that are alive, and those lost lately: without a report since, and not stopped in order. The latest reported
 * first.
 */
export async function readWorkers(redis: Redis): Promise<{ alive: KnownWorker[]; lost: KnownWorker[] }> {
  const now = await redisNowMs(redis, rootKeys.workers)
  const [alive, lost] = await Promise.all([
    heardOf(redis, now, '+inf', now - ALIVE_FOR_MS, SHOWN_MAX),
    heardOf(redis, now, `(${now - ALIVE_FOR_MS}`, now - LOST_KEPT_MS, LOST_SHOWN_MAX),
  ])
  return { alive, lost }
}

/** How many workers are alive, and up to 500 of them. */
export async function readLiveWorkers(redis: Redis): Promise<{ count: number; workers: KnownWorker[] }> {
  const now = await redisNowMs(redis, rootKeys.workers)
  const [count, workers] = await Promise.all([
    redis.zcount(rootKeys.workers, now - ALIVE_FOR_MS, '+inf'),
    heardOf(redis, now, '+inf', now - ALIVE_FOR_MS, SHOWN_MAX),
  ])
  return { count, workers }
}

/** Names of the workers that have said within the last 10 s that they are alive. */
export async function namesOfLiveWorkers(redis: Redis): Promise<string[]> {
  return redis.zrangebyscore(rootKeys.workers, (await redisNowMs(redis, rootKeys.workers)) - ALIVE_FOR_MS, '+inf')
}

/** How many workers have said within the last 10 s that they are alive. */
export async function workersAlive(redis: Redis): Promise<number> {
  return redis.zcount(rootKeys.workers, (await redisNowMs(redis, rootKeys.workers)) - ALIVE_FOR_MS, '+inf')
}
