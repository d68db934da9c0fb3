// The job `requeue`: requeues the messages that match its filter, page by page. Between pages it goes to the back of the queue if other
// jobs wait there, so that a long job delays none of them.
import type { Config } from '../../kernel/config.ts'
import type { Log } from '../../kernel/log.ts'
import { sharedDelayedKey, sharedWaitingKey } from '../../lanes/bullmq/layout.ts'
import { closeWorker, endOwn, type Job, type OwnEnd, openWorker } from '../../lanes/bullmq/worker.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { sharedQueuePrefix } from '../../redis/keys.ts'
import { retryDeadLetter } from './dead-letters.ts'
import {
  advance,
  closeRequeue,
  findRequeueJob,
  noCounts,
  progressOf,
  REQUEUE_QUEUE,
  type RequeueJob,
  requeuePayloadSchema,
  setRequeueState,
  totalOf,
} from './jobs.ts'
import { putBack } from './requeue.ts'
import { beginning, type Cursor, countOf, LISTS, type Page, readPage } from './search.ts'

/** Each works on a few pages at a time; more at once would keep Redis from sending messages. */
const CONCURRENCY = 2
/** A job waits this long when Redis is away or full. */
const REDIS_AWAY_MS = 1_000
const DAY_SECONDS = 86_400

/** Dependencies of requeue jobs. */
export interface RequeueDeps {
  redis: Redis
  config: Pick<Config, 'retentionMs' | 'validityMs'>
  log: Log
  queues: LaneQueues
}

/**
 * Starts processing requeue jobs, page by page. A job that is stopped, or whose worker dies, continues after its last page.
 */
export function startRequeues(deps: RequeueDeps) {
  const stopping = new AbortController()
  const worker = openWorker(
    deps.redis,
    { name: REQUEUE_QUEUE, prefix: sharedQueuePrefix(REQUEUE_QUEUE) },
    async (job, token) => endOwn(await workOn(deps, job, stopping.signal), job, token),
    {
      concurrency: CONCURRENCY,
      // A job whose worker died is taken by another within 3 s. A worker that stalls for a moment may lose its lock,
      // which is harmless: two may work on one job.
      lockDuration: 2_000,
      stalledInterval: 500,
      maxStalledCount: 100,
      // The job has a record of its own; finished ones are kept for the dashboard only.
      removeOnComplete: { age: DAY_SECONDS, count: 1_000, limit: 100 },
      removeOnFail: { age: 7 * DAY_SECONDS, count: 1_000, limit: 100 },
    },
    (error) => deps.log.debug({ err: error }, 'requeues.error'),
  )
  worker.on('failed', (job, error) => deps.log.error({ job: job?.id, err: error }, 'requeue.failed'))
  return {
    /** Jobs continue elsewhere after their current page; waits for that at most `limitMs`. */
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
    // Done before, or expired.
    if (asked === undefined || asked.state === 'done' || asked.state === 'failed') return { kind: 'done' }
    if (asked.state === 'waiting') await setRequeueState(deps.redis, id, 'running', await redisNowMs(deps.redis))
    const mayGoOn = async () => !stopped.aborted && !(await doOthersWait(deps.redis))
    if (!(await requeuePages(deps, id, asked, mayGoOn))) return { kind: 'waits', ms: 1 }
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

/** The account's list of open jobs is updated as well; if the process dies in between, that list repairs itself. */
async function endJob(
  { redis }: RequeueDeps,
  id: string,
  job: RequeueJob | undefined,
  state: 'done' | 'failed',
): Promise<void> {
  await setRequeueState(redis, id, state, await redisNowMs(redis))
  if (job !== undefined) await closeRequeue(redis, job.account, id)
}

// Where the process may die: within a page, another worker does the page again. A requeued message has left the list and is not found
// again, even if it has failed once more. Between a page and the cursor: the same. Nothing is counted twice, because the steps write the
// counts.

interface PageDeps {
  redis: Redis
  config: Pick<Config, 'retentionMs' | 'validityMs'>
  queues: LaneQueues
}

/** The cursor of a lane that is done. */
const END = 'end'

/**
 * Pages in progress at once. With one, 1,520 messages a second were requeued, with two 1,950 (100,000 messages, two kills, a Redis that
 * syncs every write), and a third of the worker's time was still spent waiting.
 */
const AT_ONCE = 3

/**
 * Works on the job from its cursors. `mayGoOn` is called after each page that was not empty. True once all lanes are done; false when it
 * may not go on.
 */
async function requeuePages(
  deps: PageDeps,
  id: string,
  { order }: RequeueJob,
  mayGoOn: () => Promise<boolean>,
): Promise<boolean> {
  for (const lane of order.lanes) {
    // Read again each time: of two workers on one job each continues from the other's cursor.
    for (let isDone = false; !isDone; ) {
      const { cursor } = await progressOf(deps.redis, lane, id)
      const end = cursor === END ? 'done' : await requeueLane(deps, lane, { id, order, cursor }, mayGoOn)
      if (end === 'held') return false
      isDone = end === 'done'
    }
  }
  return true
}

/** `elsewhere`: another worker has moved the cursor. */
type LaneEnd = 'done' | 'held' | 'elsewhere'
/** The page before: undefined when the lane goes on after it. */
type Before = Promise<LaneEnd | undefined>

async function requeueLane(
  deps: PageDeps,
  lane: number,
  { id, order, cursor }: { id: string; order: RequeueJob['order']; cursor: string },
  mayGoOn: () => Promise<boolean>,
): Promise<LaneEnd> {
  const read = (from: string) => readPage(deps, lane, order, from === '' ? beginning(order) : readCursor(from))
  const finish = async (from: string, to: string, page: Page, before: Before): Before => {
    const counts = await workOnPage(deps, lane, id, order.untilMs, page)
    // In the order of the pages: otherwise the one before would be skipped if this process died now.
    const end = await before
    if (end !== undefined) return end
    if (!(await advance(deps.redis, lane, id, { from, to, counts }))) return 'elsewhere'
    return to === END ? 'done' : undefined
  }
  const underWay: Before[] = []
  let last: Before = Promise.resolve(undefined)
  let ahead = read(cursor)
  for (let from = cursor; ; ) {
    const page = await ahead
    const to = page.next ? writeCursor(page.next) : END
    last = awaitedLater(finish(from, to, page, last))
    if (to === END) return (await last) ?? 'done'
    underWay.push(last)
    ahead = awaitedLater(read(to))
    const end = underWay.length < AT_ONCE ? undefined : await underWay.shift()
    if (end !== undefined) return end
    if (page.length > 0 && !(await mayGoOn())) return (await last) ?? 'held'
    from = to
  }
}

/** Marks a rejection as handled: the caller awaits it later, or never once another page has failed. */
function awaitedLater<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {})
  return work
}

async function workOnPage(deps: PageDeps, lane: number, id: string, untilMs: number, page: Page) {
  const counts = { ...noCounts(), failed: page.unreadable }
  for (const verdict of await putBack(deps, lane, page.found, { job: { id, untilMs } })) {
    // The step itself counts what it has requeued; messages that changed meanwhile do not match any more.
    if (verdict !== 'done' && verdict !== 'ignored' && verdict !== 'missing') counts[countOf(verdict)] += 1
  }
  for (const letter of page.deadLetters) {
    if (await retryDeadLetter(deps, lane, letter)) counts.requeued += 1
  }
  if (counts.requeued > 0) deps.queues.wake(lane)
  return counts
}

const writeCursor = ({ list, after }: Cursor): string => `${list} ${after.score} ${after.member}`

function readCursor(text: string): Cursor {
  const [name, score, member = ''] = text.split(' ')
  const list = LISTS.find((each) => each === name)
  if (list === undefined) throw new Error(`not a cursor: ${text}`)
  return { list, after: { score: Number(score), member } }
}
