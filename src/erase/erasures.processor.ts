// The job `erase`: erases a person. While a message to them is being sent, the job goes to the back of its queue and tries
// again. If the process dies, another worker starts the job again within seconds; what was erased is not found again.

import { isFilesAway } from '../files/store.ts'
import { ERASURE_QUEUE, erasurePayloadSchema } from '../jobs/background.ts'
import { closeWorker, endOwn, type Job, type OwnEnd, openWorker } from '../lanes/bullmq/worker.ts'
import { redisNowMs } from '../redis/clock.ts'
import { isRedisAway } from '../redis/errors.ts'
import { sharedQueuePrefix } from '../redis/keys.ts'
import { type BookDeps, createContactBook } from './contact-book-deletion.ts'
import { erasePerson } from './erase.ts'
import type { EraseDeps } from './erase-messages.ts'
import { beginErasure, type Erasure, endErasure, findErasure, openErasureQueue } from './erasures.ts'

/** A job waits this long when Redis is away or full. */
const REDIS_AWAY_MS = 1_000
/** How soon to try again when messages are being sent. */
const BUSY_MS = 500
const DAY_SECONDS = 86_400

type ErasureDeps = EraseDeps & BookDeps
type ContactBook = ReturnType<typeof createContactBook>

/**
 * Starts processing erasures: one at a time in the whole installation, since each rewrites files. Accounts take turns.
 */
export async function startErasures(deps: ErasureDeps) {
  const book = createContactBook(deps)
  const { queue, close } = openErasureQueue(deps.redis)
  // A full Redis refuses this write, and a start must not fail for that: an earlier worker's write is still there.
  await queue.setGlobalConcurrency(1).catch((error: unknown) => {
    if (!isRedisAway(error)) throw error
    deps.log.debug({ err: error }, 'erasures.error')
  })
  await close()
  const worker = openWorker(
    deps.redis,
    { name: ERASURE_QUEUE, prefix: sharedQueuePrefix(ERASURE_QUEUE) },
    async (job, token) => endOwn(await workOn(deps, book, job), job, token),
    {
      concurrency: 1,
      // As with requeue jobs: one whose worker died is taken up by another within 5 s, and two may work on one.
      lockDuration: 3_000,
      stalledInterval: 1_000,
      maxStalledCount: 100,
      removeOnComplete: { age: DAY_SECONDS, count: 1_000, limit: 100 },
      removeOnFail: { age: 7 * DAY_SECONDS, count: 1_000, limit: 100 },
    },
    (error) => deps.log.debug({ err: error }, 'erasures.error'),
  )
  worker.on('failed', (job, error) => deps.log.error({ job: job?.id, err: error }, 'erasure.failed'))
  return { stop: (limitMs: number): Promise<void> => closeWorker(worker, limitMs) }
}

/** One try to delete the person from WhatsApp's contact book; returns the wait before another. */
async function askContactBook(book: ContactBook, id: string, erasure: Erasure | undefined): Promise<OwnEnd> {
  const waitMs = erasure && (await book.ask(id, erasure))
  return waitMs === undefined ? { kind: 'done' } : { kind: 'waits', ms: waitMs }
}

async function workOn(deps: ErasureDeps, book: ContactBook, job: Job): Promise<OwnEnd> {
  const payload = erasurePayloadSchema.safeParse(job.data)
  if (!payload.success) return { kind: 'dead_letter', reason: 'not an erasure' }
  const id = payload.data.job
  try {
    const asked = await findErasure(deps.redis, id)
    // Expired.
    if (asked === undefined) return { kind: 'done' }
    if (asked.state === 'done') return await askContactBook(book, id, asked)
    if (asked.person === undefined || asked.state === 'failed') return { kind: 'done' }
    if (asked.state === 'waiting') await beginErasure(deps.redis, id, job.opts.priority ?? 0)
    const { account, person, created_at: nowMs } = asked
    await book.prepare(id, asked)
    if (!(await erasePerson(deps, { id, account, person, nowMs }))) return { kind: 'waits', ms: BUSY_MS }
    // One short try; further tries come after the end.
    const end = await askContactBook(book, id, await findErasure(deps.redis, id))
    await endErasure(deps.redis, id, 'done', await redisNowMs(deps.redis))
    deps.log.info({ job: id }, 'erasure.done')
    return end
  } catch (error) {
    if (isRedisAway(error) || isFilesAway(error)) return { kind: 'waits', ms: REDIS_AWAY_MS }
    deps.log.error({ job: id, err: error }, 'erasure.broken')
    await endErasure(deps.redis, id, 'failed', await redisNowMs(deps.redis))
    return { kind: 'dead_letter', reason: 'it could not go on; the log of the worker has the cause' }
  }
}
