// The job `requeue`: goes through the lists of what ended badly, lane by lane and page by page, and queues again what
// the filter finds. After a page it goes to the back of the queue if others stand there, so that a long one holds up
// nobody else's.
//
// Where the process may die: within a page, another worker does the page again. What was queued again has left the list
// and is not met a second time, even should it have failed once more; what was not is met now. Between a page and the
// cursor: the same. Nobody is counted twice, because the counts are written with the steps.
import type { Job } from 'bullmq'
import type { Config } from '../config.ts'
import { REQUEUE_QUEUE, requeuePayloadSchema } from '../jobs/requeue.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import type { Log } from '../log.ts'
import { sharedDelayedKey, sharedWaitingKey } from '../redis/bullmq-layout.ts'
import type { Redis } from '../redis/connect.ts'
import { isRedisAway } from '../redis/errors.ts'
import { sharedQueuePrefix } from '../redis/keys.ts'
import { retryDeadLetter } from '../requeue/dead-letters.ts'
import {
  advance,
  findRequeueJob,
  noCounts,
  progressOf,
  type RequeueJob,
  setRequeueState,
  totalOf,
} from '../requeue/jobs.ts'
import { closeRequeue } from '../requeue/open-jobs.ts'
import { putBack } from '../requeue/requeue.ts'
import { LISTS } from '../requeue/requeueable.ts'
import { beginning, type Cursor, countOf, type Page, readPage } from '../requeue/search.ts'
import { closeWorker, endOwn, type OwnEnd, openWorker } from './bullmq.ts'

/** Each does one page at a time; more at once would keep Redis from sending messages. */
const CONCURRENCY = 2
/** A job waits this long when Redis is away or full. */
const REDIS_AWAY_MS = 1_000
const DAY_SECONDS = 86_400

/** What working on requeue jobs needs. */
export interface RequeueDeps {
  redis: Redis
  config: Pick<Config, 'retentionMs' | 'validityMs'>
  log: Log
  queues: LaneQueues
}

/**
 * Starts to work on requeue jobs, page by page. A job that is stopped, or whose worker dies, goes on after its last
 * page.
 */
export function startRequeues(deps: RequeueDeps) {
  const stopping = new AbortController()
  const worker = openWorker(
    deps.redis,
    { name: REQUEUE_QUEUE, prefix: sharedQueuePrefix(REQUEUE_QUEUE) },
    async (job, token) => endOwn(await workOn(deps, job, stopping.signal), job, token),
    {
      concurrency: CONCURRENCY,
      // One whose worker died is taken up by another within 5 s. That a worker loses its lock in a moment of stillness
      // harms nothing: two may work on one job.
      lockDuration: 3_000,
      stalledInterval: 1_000,
      maxStalledCount: 100,
      // The job has a record of its own; finished ones are kept for the dashboard only.
      removeOnComplete: { age: DAY_SECONDS, count: 1_000, limit: 100 },
      removeOnFail: { age: 7 * DAY_SECONDS, count: 1_000, limit: 100 },
    },
    (error) => deps.log.debug({ err: error }, 'requeues.error'),
  )
  worker.on('failed', (job, error) => deps.log.error({ job: job?.id, err: error }, 'requeue.failed'))
  return {
    /** Jobs go on elsewhere after the page they are at; waits for that at most `limitMs`. */
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
    // Done before, or so old that it is not kept any more.
    if (asked === undefined || asked.state === 'done' || asked.state === 'failed') return { kind: 'done' }
    if (asked.state === 'waiting') await setRequeueState(deps.redis, id, 'running', Date.now())
    let ahead: Ahead | undefined
    for (;;) {
      const [taken, othersWait] = await Promise.all([
        takePage(deps, id, asked, { stopped, ahead }),
        doOthersWait(deps.redis),
      ])
      if (taken.isOver) break
      if (stopped.aborted || othersWait) return { kind: 'waits', ms: 1 }
      ahead = taken.ahead
    }
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

/** What is open is known to the account's record as well; dying between the two is mended there. */
async function endJob(
  { redis }: RequeueDeps,
  id: string,
  job: RequeueJob | undefined,
  state: 'done' | 'failed',
): Promise<void> {
  await setRequeueState(redis, id, state, Date.now())
  if (job !== undefined) await closeRequeue(redis, job.account, id)
}

/** A page that is read while the one before it is worked on: a page takes many round trips, and these would be more. */
interface Ahead {
  lane: number
  /** The cursor that it begins at. */
  from: string
  page: Promise<Page>
}

/**
 * Works on one page; empty ones are passed over. `isOver` once all lanes are done. What is read ahead may be otherwise by
 * the time it is worked on, which the step that queues a message again sees.
 */
async function takePage(
  deps: RequeueDeps,
  id: string,
  { order }: RequeueJob,
  { stopped, ahead }: { stopped: AbortSignal; ahead: Ahead | undefined },
): Promise<{ isOver: boolean; ahead?: Ahead }> {
  const read = (lane: number, from: string) =>
    readPage(deps, lane, order, from === '' ? beginning(order) : readCursor(from))
  // Asked for each time: should two workers be at it, each goes on from where the other has come to.
  const cursors = await Promise.all(order.lanes.map(async (lane) => (await progressOf(deps.redis, lane, id)).cursor))
  for (const [i, lane] of order.lanes.entries()) {
    for (let from = cursors[i] ?? ''; from !== END; ) {
      if (stopped.aborted) return { isOver: false }
      const page = await (ahead?.lane === lane && ahead.from === from ? ahead.page : read(lane, from))
      const to = page.next ? writeCursor(page.next) : END
      const next = page.next && { lane, from: to, page: read(lane, to) }
      // Nobody waits for it yet, and nobody may ever; whoever does hears of an error.
      next?.page.catch(() => {})
      const counts = await workOnPage(deps, lane, id, order.untilMs, page)
      await advance(deps.redis, lane, id, { from, to, counts })
      if (page.length > 0) return { isOver: false, ...(next && { ahead: next }) }
      from = to
    }
  }
  return { isOver: true }
}

async function workOnPage(deps: RequeueDeps, lane: number, id: string, untilMs: number, page: Page) {
  const counts = { ...noCounts(), failed: page.unreadable }
  for (const verdict of await putBack(deps, lane, page.found, { id, untilMs })) {
    // The step itself counts what it has queued; what is otherwise by now does not match any more.
    if (verdict !== 'done' && verdict !== 'ignored' && verdict !== 'missing') counts[countOf(verdict)] += 1
  }
  for (const letter of page.deadLetters) {
    if (await retryDeadLetter(deps, lane, letter)) counts.requeued += 1
  }
  if (counts.requeued > 0) deps.queues.wake(lane)
  return counts
}

/** Stands for a lane that is done. */
const END = 'end'

const writeCursor = ({ list, after }: Cursor): string => `${list} ${after.score} ${after.member}`

function readCursor(text: string): Cursor {
  const [name, score, member = ''] = text.split(' ')
  const list = LISTS.find((each) => each === name)
  if (list === undefined) throw new Error(`not a cursor: ${text}`)
  return { list, after: { score: Number(score), member } }
}
