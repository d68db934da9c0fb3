// Records of erasures: who asked, and how far each is. The person is named only until the erasure is done. If a worker dies,
// the counts may miss a page, because what was erased cannot be counted again.
import { z } from 'zod'
import { ERASURE_JOB, ERASURE_QUEUE, type ErasurePayload } from '../jobs/background.ts'
import { newUlid } from '../kernel/message-id.ts'
import { sealText } from '../kernel/sealed.ts'
import { LAST_PRIORITY, openQueue } from '../lanes/bullmq/open-queue.ts'
import type { Redis } from '../redis/connect.ts'
import { inTime } from '../redis/errors.ts'
import { erasureKey, rootKeys, sharedQueuePrefix } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { execOrThrow, isThere, readRecord, sealedText } from '../redis/records.ts'
import { BOOK_STATES, type BookState } from './contact-book.ts'

/** How long an erasure can be asked for. */
export const KEEP_MS = 9 * 86_400_000

/** What was forgotten: contacts, messages sent and received, and lines in the files of campaigns. */
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
  /** What came of WhatsApp's contact book; missing until the erasure has begun. */
  contact_book: z.enum(BOOK_STATES).optional(),
  /** The user ids to ask for, separated by spaces; gone once that is over. */
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

/** It is over: nobody needs to know whom it was about any more, but for user ids that WhatsApp is still asked for. */
export async function endErasure(redis: Redis, id: string, state: 'done' | 'failed', nowMs: number): Promise<void> {
  const key = erasureKey(id)
  // Whoever asks for it again has WhatsApp asked by that job.
  const forgotten = state === 'done' ? ['person'] : ['person', 'contact_book', 'contact_book_ids']
  await execOrThrow(
    redis
      .multi()
      .hset(key, { state, ended_at: nowMs })
      .hdel(key, ...forgotten)
      .pexpire(key, KEEP_MS),
  )
}

/** Notes for which user ids WhatsApp's contact book is to be asked, or why for none. */
export async function noteBook(redis: Redis, id: string, of: 'none' | 'no_user_id' | readonly string[]): Promise<void> {
  const fields =
    typeof of === 'string'
      ? { contact_book: of }
      : { contact_book: 'waiting', contact_book_ids: sealText(of.join(' ')) }
  await redis.hset(erasureKey(id), fields)
}

/** It is over: nobody needs the user ids any more. */
export async function endBook(redis: Redis, id: string, state: BookState): Promise<void> {
  const key = erasureKey(id)
  await execOrThrow(redis.multi().hset(key, 'contact_book', state).hdel(key, 'contact_book_ids'))
}

/** Notes how often it was asked. */
export async function countBookTry(redis: Redis, id: string, tries: number): Promise<void> {
  await redis.hset(erasureKey(id), 'contact_book_tries', tries)
}

/** Counts what was forgotten. */
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
     * Has a worker forget the person; resolves once that is certain, and rejects with a RedisUnavailableError in time.
     * Dying before leaves a record that nobody works on, and that ends by itself.
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
