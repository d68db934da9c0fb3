// Does the bulk moves of the gallery. One atomic step moves the files and records the outcome. If the process dies before the
// step, another worker runs the job; if after it, the step finds its own outcome.

import { MOVE_QUEUE, movePayloadSchema } from '../jobs/background.ts'
import type { Log } from '../kernel/log.ts'
import { closeWorker, type Job, openWorker, unrecoverable } from '../lanes/bullmq/worker.ts'
import type { Redis } from '../redis/connect.ts'
import { isRedisAway } from '../redis/errors.ts'
import { sharedQueuePrefix } from '../redis/keys.ts'
import { failMove, moveFiles } from './moves.ts'

/** Moves of different accounts side by side; Redis does them one after the other anyway. */
const CONCURRENCY = 4
const DAY_SECONDS = 86_400

/** Starts to work on bulk moves, on a connection that waits for Redis. */
export async function startMoves(deps: { redis: Redis; log: Log }) {
  const { redis, log } = deps
  const queue = { name: MOVE_QUEUE, prefix: sharedQueuePrefix(MOVE_QUEUE) }
  const settings = {
    concurrency: CONCURRENCY,
    // A move takes milliseconds: one whose worker died is taken up by another within 15 s.
    lockDuration: 10_000,
    stalledInterval: 5_000,
    // A worker that dies again and again during one move was more likely killed from outside than by this move.
    maxStalledCount: 5,
    // The outcome has its own record; finished jobs are kept for the dashboard only, failed ones for inspection.
    removeOnComplete: { age: DAY_SECONDS, count: 1_000, limit: 100 },
    removeOnFail: { age: 7 * DAY_SECONDS, count: 10_000, limit: 100 },
  }
  const worker = openWorker(
    redis,
    queue,
    (job) => moveJob(redis, log, job),
    settings,
    (error) => log.debug({ err: error }, 'moves.error'),
  )
  worker.on('failed', (job, error) => log.error({ move: job?.id, err: error }, 'move.failed'))
  await worker.waitUntilReady()
  return {
    /** Takes no more moves and finishes those in flight, at most for `limitMs`; other workers take the rest. */
    async stop(limitMs: number): Promise<void> {
      await closeWorker(worker, limitMs)
    },
  }
}

async function moveJob(redis: Redis, log: Log, job: Pick<Job, 'id' | 'data'>): Promise<void> {
  const parsed = movePayloadSchema.safeParse(job.data)
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'payload'}: ${issue.message}`)
    throw unrecoverable(`The payload is not a bulk move: ${faults.join('; ')}`)
  }
  const move = parsed.data
  try {
    await moveFiles(redis, move)
    log.info({ move: move.move, account: move.account, files: move.file_ids.length }, 'move.ended')
  } catch (error) {
    if (isRedisAway(error)) throw error
    // A corrupt record: every further try would fail alike, and callers wait for an answer.
    await failMove(redis, move)
    throw unrecoverable(`A record of the gallery is broken: ${String(error)}`)
  }
}
