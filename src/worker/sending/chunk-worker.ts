// The BullMQ Worker that takes the chunks of a lane. While Redis is away or full, a chunk goes back to wait.

import { cachedSender } from '../../accounts/senders.ts'
import { chunkSchema } from '../../jobs/chunk.ts'
import type { Log } from '../../kernel/log.ts'
import { laneChunkQueue } from '../../lanes/bullmq/layout.ts'
import { endJob, openWorker, returnToQueue, unrecoverable, type Worker } from '../../lanes/bullmq/worker.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import { chunksAtOnce } from '../../model/campaigns/pace.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { lanePrefix } from '../../redis/keys.ts'
import type { ChunkEnd, ChunkRun } from './send-chunk.ts'

/**
 * A worker that dies leaves its jobs locked for this long, and they are found at the next check after that. BullMQ
 * skips a check when the one before is not quite as long ago, so that two intervals may pass: with 3 s jobs were taken
 * up again 9.7 to 16.7 s after a kill -9, and it is to be 15 s at most.
 */
const LOCK_MS = 10_000
const STALLED_CHECK_MS = 2_000
/** BullMQ must make no dead letters by itself: a chunk over which workers died is sent one message at a time. */
const NO_LIMIT = 1_000_000
/** While a lane waits, its pace may change or a person may end the wait: it is checked this often. */
const LOOK_AGAIN_MS = 1_000
const NO_PACE = { max: 1_000_000_000, duration: 1 }
/** A chunk waits this long when Redis is away or full; moving it to the delayed jobs works on a full Redis. */
const REDIS_AWAY_MS = 1_000

/** What the Worker of the chunks of a lane needs. */
export interface LaneWork {
  redis: Redis
  log: Log
  queues: LaneQueues
  /** Sends a chunk; when it rejects because Redis is away or full, the chunk waits a second. */
  processChunk: (run: ChunkRun) => Promise<ChunkEnd>
}

const LIVES = {
  lockDuration: LOCK_MS,
  stalledInterval: STALLED_CHECK_MS,
  maxStalledCount: NO_LIMIT,
  maximumRateLimitDelay: LOOK_AGAIN_MS,
  removeOnComplete: { count: 0 },
} as const

/** Takes chunks of the lane; `works` is called when one begins and when it ends. */
export function openChunksWorker(
  { redis, log, queues, processChunk }: LaneWork,
  lane: number,
  { works, chunks }: Pick<ChunkRun, 'chunks'> & { works: () => void },
): Worker {
  const queue = queues.chunkQueueOf(lane)
  const worker = openWorker(
    redis,
    { name: laneChunkQueue(lane), prefix: lanePrefix(lane) },
    async (job, token) => {
      works()
      // The code that sends the chunk reports what is wrong with its sender.
      const sender = await cachedSender(redis, lane).catch(() => undefined)
      worker.concurrency = chunksAtOnce(sender?.rate ?? 1)
      const chunk = chunkSchema.safeParse(job.data)
      // The fan-out finds its recipients missing and feeds them again.
      if (!chunk.success) throw unrecoverable('not a chunk')
      const run = { lane, chunk: chunk.data, crashes: job.stalledCounter, chunks }
      try {
        const end = await processChunk(run)
        await (end.kind === 'back' ? returnToQueue(job, token) : endJob(end, job, token, queue))
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
      // A chunk holds nothing that its campaign does not have.
      removeOnFail: { count: 0 },
    },
    (error) => log.debug({ lane, err: error }, 'lane.error'),
  )
  worker.on('failed', (job, error) => log.error({ lane, chunk: job?.id, err: error }, 'chunk.failed'))
  return worker
}
