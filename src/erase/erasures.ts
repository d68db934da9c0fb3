// Records of erasures and their progress. The person is named only until the erasure is done. If a worker dies, the counts may miss a page,
// because erased things cannot be counted again.
import { z } from 'zod'
import { ERASURE_JOB, ERASURE_QUEUE, type ErasurePayload } from '../jobs/background.ts'
import { newUlid } from '../kernel/message-id.ts'
import { sealText } from '../kernel/sealed.ts'
import { DAY_MS } from '../kernel/time-units.ts'
import { LAST_PRIORITY, openQueue } from '../lanes/bullmq/open-queue.ts'
import type { Redis } from '../redis/connect.ts'
import { inTime } from '../redis/errors.ts'
import { erasureKey, rootKeys, sharedQueuePrefix } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { execOrThrow, isThere, readRecord, sealedText } from '../redis/records.ts'
import { BOOK_STATES, type BookState } from './contact-book.ts'

/** How long the record of an erasure is kept. */
export const KEEP_MS = 9 * DAY_MS

/** What was erased: contacts, messages sent and received, and lines in the files of campaigns. */
const ERASED = ['contacts', 'messages', 'received', 'recipients'] as const
export type Erased = Record<(typeof ERASED)[number], number>

const count = z.coerce.number().int().default(0)
const erasureSchema = z.object({
  account: z.coerce.number().int().positive(),
  /** Whom it is about; gone once it is done. */
  person: sealedText.optional(),
  state: z.enum(['waiting', 'running', 'done', 'failed']),
  created_at: z.coerce.number(),
  ended_at: z.coerce.number().optional(),
  ...{ contacts: count, messages: count, received: count, recipients: count },
  /** The result for WhatsApp's contact book; missing until the erasure has begun. */
  contact_book: z.enum(BOOK_STATES).optional(),
  /** The user ids to delete there, separated by spaces; removed once that is over. */
  contact_book_ids: sealedText.optional(),
  contact_book_tries: count,
})
export type Erasure = z.infer<typeof erasureSchema>

const PREFIX = 'er_'
/** A new id, `er_<ULID>`. */
export const newErasureId = (nowMs: number): string => `${PREFIX}${newUlid(nowMs)}`
/** Whether the id of a job is one of an erasure. */
export const isErasureId = (id: string): boolean => id.startsWith(PREFIX)

/** The erasure by its id; undefined when there is none or it is too old. Throws a CorruptRecordError. */
export async function findErasure(redis: Redis, id: string): Promise<Erasure | undefined> {
  const raw = await redis.hgetall(erasureKey(id))
  return isThere(raw) ? readRecord(erasureSchema, `job ${id}`, raw) : undefined
}

/** Notes that work on it began, and its round. */
export async function beginErasure(redis: Redis, id: string, round: number): Promise<void> {
  await execOrThrow(redis.multi().hset(rootKeys.erasureRounds, 'now', round).pexpire(rootKeys.erasureRounds, KEEP_MS))
  await redis.hset(erasureKey(id), 'state', 'running')
}

const roundScript = defineScript(import.meta.url, 'erasure-round')

/** Accounts take turns: 150 erasures of one account hold up nobody else's. */
async function roundOf(redis: Redis, account: number): Promise<number> {
  const args = { account: String(account), keepMs: KEEP_MS }
  return Math.min(LAST_PRIORITY, Number(await roundScript(redis, { rounds: rootKeys.erasureRounds }, args)))
}

/** Ends the erasure and removes the person from its record, except user ids that WhatsApp has yet to delete. */
export async function endErasure(redis: Redis, id: string, state: 'done' | 'failed', nowMs: number): Promise<void> {
  const key = erasureKey(id)
  // A repeated request gets a job of its own, which asks WhatsApp again.
  const forgotten = state === 'done' ? ['person'] : ['person', 'contact_book', 'contact_book_ids']
  await execOrThrow(
    redis
      .multi()
      .hset(key, { state, ended_at: nowMs })
      .hdel(key, ...forgotten)
      .pexpire(key, KEEP_MS),
  )
}

/** Stores the user ids to delete from WhatsApp's contact book, or why there are none. */
export async function noteBook(redis: Redis, id: string, of: 'none' | 'no_user_id' | readonly string[]): Promise<void> {
  const fields =
    typeof of === 'string'
      ? { contact_book: of }
      : { contact_book: 'waiting', contact_book_ids: sealText(of.join(' ')) }
  await redis.hset(erasureKey(id), fields)
}

/** Stores the result for the contact book, and removes the user ids. */
export async function endBook(redis: Redis, id: string, state: BookState): Promise<void> {
  const key = erasureKey(id)
  await execOrThrow(redis.multi().hset(key, 'contact_book', state).hdel(key, 'contact_book_ids'))
}

/** Stores how often WhatsApp was asked. */
export async function countBookTry(redis: Redis, id: string, tries: number): Promise<void> {
  await redis.hset(erasureKey(id), 'contact_book_tries', tries)
}

/** Adds to the counts. */
export async function countErased(redis: Redis, id: string, of: keyof Erased, by: number): Promise<void> {
  if (by === 0) return
  // Not HINCRBY: a command whose reply was lost is sent again and would count twice. Nobody else counts for this job.
  const before = Number((await redis.hget(erasureKey(id), of)) ?? 0)
  await redis.hset(erasureKey(id), of, before + by)
}

export type ErasureQueue = ReturnType<typeof openErasureQueue>

/** The queue that erasures are written into. */
export function openErasureQueue(redis: Redis) {
  const queue = openQueue<ErasurePayload>(redis, ERASURE_QUEUE, sharedQueuePrefix(ERASURE_QUEUE))
  return {
    queue,

    /**
     * Queues the erasure; resolves once that is durable, and rejects with a RedisUnavailableError in time. Dying before
     * leaves a record without a job, which expires.
     */
    async start(id: string, of: { account: number; person: string; nowMs: number }): Promise<void> {
      const { account, person, nowMs } = of
      await inTime(redis, async () => {
        const key = erasureKey(id)
        const record = { account, person: sealText(person), state: 'waiting', created_at: nowMs }
        await execOrThrow(redis.multi().hset(key, record).pexpire(key, KEEP_MS))
        await queue.add(ERASURE_JOB, { v: 1, job: id }, { jobId: id, priority: await roundOf(redis, account) })
      })
    },

    close: (): Promise<void> => queue.close(),
  }
}
