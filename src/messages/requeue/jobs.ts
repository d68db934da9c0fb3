// Requeue jobs: their queue, their records, their progress on each lane, and the limit of open ones per account. A lane's
// counts are stored beside its messages and change in the same steps, so that they stay true when a process dies.
import { z } from 'zod'
import { newUlid } from '../../kernel/message-id.ts'
import { sealText } from '../../kernel/sealed.ts'
import { DAY_MS } from '../../kernel/time-units.ts'
import { openQueue } from '../../lanes/bullmq/open-queue.ts'
import { messageClassSchema } from '../../model/messages/content.ts'
import type { Redis } from '../../redis/connect.ts'
import { inTime } from '../../redis/errors.ts'
import { openRequeuesKey, requeueJobKey, requeueProgressKey, sharedQueuePrefix } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { execOrThrow, isThere, jsonText, readRecord, sealedText } from '../../redis/records.ts'
import { REQUEUE_STATES } from './filter.ts'

/**
 * How long a job is kept. Longer than the 8.5 days of its Idempotency-Key: a repeat that found no record would count as a first request,
 * and send again what has failed since.
 */
export const KEEP_MS = 9 * DAY_MS

/** Which messages to requeue: their lanes, a filter, and when they ended (epoch ms, both inclusive). */
const orderSchema = z.object({
  lanes: z.array(z.number().int().positive()),
  filter: z.object({
    state: z.enum(REQUEUE_STATES).optional(),
    to: z.string().optional(),
    class: messageClassSchema.optional(),
    campaign_id: z.string().optional(),
    reference: z.string().optional(),
    run: z.number().int().positive().optional(),
    code: z.string().optional(),
  }),
  sinceMs: z.number(),
  untilMs: z.number(),
})
export type RequeueOrder = z.infer<typeof orderSchema>

/** Sealed, because it may name a recipient. */
const storedOrder = sealedText.pipe(jsonText).pipe(orderSchema)
const orderText = (order: RequeueOrder): string => sealText(JSON.stringify(order))

const jobSchema = z.object({
  /** 0: from the command line, over all accounts. */
  account: z.coerce.number().int().nonnegative(),
  state: z.enum(['waiting', 'running', 'done', 'failed']),
  order: storedOrder,
  created_at: z.coerce.number(),
  ended_at: z.coerce.number().optional(),
})
export type RequeueJob = z.infer<typeof jobSchema>

/**
 * `failed`: their sender was removed, or their record or their campaign's is corrupt, which a person must repair. `campaign_over`: their
 * campaign sends nothing more. `skipped_capped`: marketing to capped people.
 */
export const COUNTS = ['requeued', 'without_content', 'campaign_over', 'skipped_capped', 'failed'] as const
export type RequeueCounts = Record<(typeof COUNTS)[number], number>
/** The initial counts. */
export const noCounts = (): RequeueCounts => ({
  ...{ requeued: 0, without_content: 0, campaign_over: 0, skipped_capped: 0, failed: 0 },
})

/** How many have matched so far. */
export const matchedOf = (counts: RequeueCounts): number => COUNTS.reduce((sum, each) => sum + counts[each], 0)

/** A new job id, `rq_<ULID>`, for a job created at `nowMs` (epoch ms). */
export const newRequeueJobId = (nowMs: number): string => `rq_${newUlid(nowMs)}`

/**
 * Stores the job in one step: half a record could not be read, and every later job of the account would find it. Idempotent.
 */
export async function createRequeueJob(
  redis: Redis,
  id: string,
  { account, order, nowMs }: { account: number; order: RequeueOrder; nowMs: number },
): Promise<void> {
  const key = requeueJobKey(id)
  const record = { order: orderText(order), account, created_at: nowMs, state: 'waiting' }
  const transaction = redis.multi()
  for (const [field, value] of Object.entries(record)) transaction.hsetnx(key, field, value)
  await execOrThrow(transaction.pexpire(key, KEEP_MS))
}

/**
 * The job by its id; undefined when there is none or it has expired (KEEP_MS). Throws a CorruptRecordError.
 */
export async function findRequeueJob(redis: Redis, id: string): Promise<RequeueJob | undefined> {
  const raw = await redis.hgetall(requeueJobKey(id))
  return isThere(raw) ? readRecord(jobSchema, `job ${id}`, raw) : undefined
}

/** Records that a worker has begun the job or that it has ended. An ended job no longer names the recipient it was filtered by. */
export async function setRequeueState(
  redis: Redis,
  id: string,
  state: RequeueJob['state'],
  nowMs: number,
): Promise<void> {
  const ended = state === 'done' || state === 'failed'
  const key = requeueJobKey(id)
  const before = ended ? await redis.hget(key, 'order') : null
  const order = before === null ? undefined : storedOrder.safeParse(before).data
  const named = order?.filter.to === undefined ? undefined : { ...order, filter: { ...order.filter, to: '' } }
  await redis.hset(key, { state, ...(ended && { ended_at: nowMs }), ...(named && { order: orderText(named) }) })
  await redis.pexpire(key, KEEP_MS)
}

const count = z.coerce.number().int().default(0)
const progressSchema = z.object({
  cursor: z.string().default(''),
  ...{ requeued: count, without_content: count, campaign_over: count, skipped_capped: count, failed: count },
})

/** The progress of a job on a lane. `cursor` is empty before its first page. */
export async function progressOf(
  redis: Redis,
  lane: number,
  job: string,
): Promise<{ cursor: string; counts: RequeueCounts }> {
  const raw = await redis.hgetall(requeueProgressKey(lane, job))
  const { cursor, ...counts } = readRecord(progressSchema, `progress of ${job}`, raw)
  return { cursor, counts }
}

/** The counts of a job over all its lanes. */
export async function totalOf(redis: Redis, id: string, { order }: RequeueJob): Promise<RequeueCounts> {
  const total = noCounts()
  for (const { counts } of await Promise.all(order.lanes.map((lane) => progressOf(redis, lane, id)))) {
    for (const each of COUNTS) total[each] += counts[each]
  }
  return total
}

const advanceScript = defineScript(import.meta.url, 'requeue-advance')

/** Moves from one cursor to the next, and counts. False when another worker has done so; then nothing is counted. */
export async function advance(
  redis: Redis,
  lane: number,
  job: string,
  move: { from: string; to: string; counts: RequeueCounts },
): Promise<boolean> {
  const reply = await advanceScript(
    redis,
    { progress: requeueProgressKey(lane, job) },
    { from: move.from, to: move.to, keepMs: KEEP_MS, counts: move.counts },
  )
  return reply === 1
}

export type RequeueQueue = ReturnType<typeof openRequeueQueue>

/**
 * The queue that requeue jobs are written into. `start` rejects with a RedisUnavailableError in time when Redis is
 * away.
 */
export function openRequeueQueue(redis: Redis) {
  const queue = openQueue<RequeuePayload>(redis, REQUEUE_QUEUE, sharedQueuePrefix(REQUEUE_QUEUE))

  return {
    queue,

    /**
     * Queues the job; resolves once that is durable. Dying before leaves a record whose id nobody has; starting it again with the same id
     * completes it.
     */
    async start(id: string, asked: { account: number; order: RequeueOrder; nowMs: number }): Promise<void> {
      await inTime(redis, async () => {
        await createRequeueJob(redis, id, asked)
        await queue.add(REQUEUE_JOB, { v: 1, job: id }, { jobId: id })
      })
    },

    close: (): Promise<void> => queue.close(),
  }
}

/** Most open jobs of an account: more have no use, since one filter finds as much as five. */
export const MOST_OPEN = 5
/** A counted job without a record after this long was never begun: its process died in between. */
const BEGUN_WITHIN_MS = 60_000

const openScript = defineScript(import.meta.url, 'requeue-open')

/**
 * Counts the job among the account's open ones; false when there are too many. A job that is or was open is accepted again. Dying after
 * this leaves a name without a job; it is dropped when its place is needed.
 */
export async function openRequeue(redis: Redis, account: number, job: string, nowMs: number): Promise<boolean> {
  if ((await findRequeueJob(redis, job)) !== undefined) return true
  const args = { job, nowMs, mostOpen: MOST_OPEN, keepMs: KEEP_MS }
  const open = async () => (await openScript(redis, { open: openRequeuesKey(account) }, args)) === 1
  if (await open()) return true
  await dropEnded(redis, account, nowMs)
  return open()
}

/** The job is done. Should the process die before this, it is dropped when its place is needed. */
export async function closeRequeue(redis: Redis, account: number, job: string): Promise<void> {
  await redis.zrem(openRequeuesKey(account), job)
}

async function dropEnded(redis: Redis, account: number, nowMs: number): Promise<void> {
  const names = await redis.zrange(openRequeuesKey(account), 0, '-1', 'WITHSCORES')
  for (let i = 0; i < names.length; i += 2) {
    const job = names[i] ?? ''
    const found = await findRequeueJob(redis, job)
    const wasNeverBegun = found === undefined && nowMs - Number(names[i + 1]) > BEGUN_WITHIN_MS
    if (wasNeverBegun || found?.state === 'done' || found?.state === 'failed') await closeRequeue(redis, account, job)
  }
}

export const REQUEUE_QUEUE = 'requeues'
const REQUEUE_JOB = 'requeue'

export const requeuePayloadSchema = z.object({ v: z.literal(1), job: z.string().min(1).max(40) })
export type RequeuePayload = z.infer<typeof requeuePayloadSchema>
