// The BullMQ Workers of a lane: those that take its messages, and the one that takes its chunks. Both leave a job to wait
// while Redis is away or full, and make a dead letter of one that cannot be done.
import type { Job, Worker } from 'bullmq'
import { cachedSender } from '../accounts/store/senders.ts'
import { chunksAtOnce } from '../campaigns/pace.ts'
import type { Config } from '../config.ts'
import { chunkSchema } from '../jobs/chunk.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import type { Log } from '../log.ts'
import { laneChunkQueue, laneQueue } from '../redis/bullmq-layout.ts'
import type { Redis } from '../redis/connect.ts'
import { isRedisAway } from '../redis/errors.ts'
import { lanePrefix } from '../redis/keys.ts'
import { endJob, giveBack, type JobEnd, openWorker, unrecoverable } from './bullmq.ts'
import { finishTogether } from './finish-together.ts'
import type { LaneShare } from './lane-share.ts'
import type { ChunkEnd, ChunkRun } from './send-chunk.ts'

/**
 * A worker that dies leaves its jobs locked for this long, and they are found at the next check after that. BullMQ
 * skips a check when the one before is not quite as long ago, so that two intervals may pass: with 3 s jobs were taken
 * up again 9.7 to 16.7 s after a kill -9, and it is to be 15 s at most.
 */
const LOCK_MS = 10_000
const STALLED_CHECK_MS = 2_000
/** BullMQ must make no dead letters by itself: it cannot tell the one that kills its workers from its neighbours. */
const NO_LIMIT = 1_000_000
/** While a lane waits, its pace may change or a person may end the wait: it is looked at this often. */
const LOOK_AGAIN_MS = 1_000
const NO_PACE = { max: 1_000_000_000, duration: 1 }
/**
 * A message waits this long when Redis refused to write for it; moving it to the delayed ones works on a full Redis.
 */
const REDIS_AWAY_MS = 1_000
/** Most dead letters that one more of them takes away when they are older than message records live. */
const DEAD_LETTERS_SWEPT = 500

/** What the Workers of lanes work with. */
export interface LaneWork {
  redis: Redis
  config: Pick<Config, 'retentionMs'>
  log: Log
  queues: LaneQueues
  /**
   * Does the work of one job and says how it ended; when it rejects because Redis is away or full, the job waits a
   * second, and any other error makes a dead letter of it.
   */
  process: (job: Job) => Promise<JobEnd>
  /** The same for a chunk. */
  processChunk: (run: ChunkRun) => Promise<ChunkEnd>
}

const LIVES = {
  lockDuration: LOCK_MS,
  stalledInterval: STALLED_CHECK_MS,
  maxStalledCount: NO_LIMIT,
  maximumRateLimitDelay: LOOK_AGAIN_MS,
  removeOnComplete: { count: 0 },
} as const

/** Takes messages of the lane, as many at once as it is told later; `begins` is called before each. */
export function openMessagesWorker(
  { redis, config, log, queues, process }: LaneWork,
  lane: number,
  { share, begins }: { share: LaneShare; begins: () => void },
): Worker {
  const queue = queues.queueOf(lane)
  const worker = openWorker(
    redis,
    { name: laneQueue(lane), prefix: lanePrefix(lane) },
    async (job, token) => {
      begins()
      try {
        await endJob(await share.run(() => process(job)), job, token, queue)
      } catch (error) {
        // A Redis that is full refuses claims: the message waits. Failing the job would make a dead letter of it.
        if (!isRedisAway(error)) throw error
        log.warn({ lane, message: job.id, err: error }, 'message.put_off')
        await endJob({ kind: 'waits', ms: REDIS_AWAY_MS }, job, token, queue)
      }
    },
    { ...LIVES, concurrency: 1, removeOnFail: { age: config.retentionMs / 1_000, limit: DEAD_LETTERS_SWEPT } },
    (error) => log.debug({ lane, err: error }, 'lane.error'),
  )
  finishTogether(worker, redis, { lane, lockMs: LOCK_MS })
  worker.on('failed', (job, error) => {
    log.error({ lane, message: job?.id, reason: error.message }, 'message.dead_lettered')
  })
  return worker
}

/** Takes chunks of the lane; `works` is called when one begins and when it ends. */
export function openChunksWorker(
  { redis, log, queues, processChunk }: LaneWork,
  lane: number,
  { share, stopping, works }: { share: LaneShare; stopping: AbortSignal; works: () => void },
): Worker {
  const queue = queues.chunkQueueOf(lane)
  const worker = openWorker(
    redis,
    { name: laneChunkQueue(lane), prefix: lanePrefix(lane) },
    async (job, token) => {
      works()
      // Whoever sends the chunk says what is wrong with its sender.
      const sender = await cachedSender(redis, lane).catch(() => undefined)
      worker.concurrency = chunksAtOnce(sender?.rate ?? 1)
      const chunk = chunkSchema.safeParse(job.data)
      // Its recipients are found missing, and fed again.
      if (!chunk.success) throw unrecoverable('not a chunk')
      const run = { lane, chunk: chunk.data, crashes: job.stalledCounter, room: share.room }
      try {
        const end = await processChunk({ ...run, stopping })
        await (end.kind === 'back' ? giveBack(job, token) : endJob(end, job, token, queue))
      } catch (error) {
        if (!isRedisAway(error)) throw error
        log.warn({ lane, chunk: job.id, err: error }, 'chunk.put_off')
        await endJob({ kind: 'waits', ms: REDIS_AWAY_MS }, job, token, queue)
      } finally {
        works()
      }
    },
    {
      ...LIVES,
      concurrency: chunksAtOnce(1),
      // BullMQ lets a queue be held back only if it has a limit.
      limiter: NO_PACE,
      // A chunk holds nothing that its campaign does not know.
      removeOnFail: { count: 0 },
    },
    (error) => log.debug({ lane, err: error }, 'lane.error'),
  )
  worker.on('failed', (job, error) => log.error({ lane, chunk: job?.id, err: error }, 'chunk.failed'))
  return worker
}
