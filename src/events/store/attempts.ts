// The latest answers of an endpoint, limited in number and age. Failures have a list of their own: at a hundred deliveries a
// second, successes would push them out within seconds.
import { z } from 'zod'
import { cutText } from '../../kernel/cut-text.ts'
import { masked } from '../../kernel/masked.ts'
import { DAY_MS } from '../../kernel/time-units.ts'
import { type AttemptDocument, attemptSchema } from '../../model/events/endpoint.ts'
import type { Redis } from '../../redis/connect.ts'
import { eventKeys } from '../../redis/keys.ts'
import { jsonText } from '../../redis/records.ts'

/** Attempts that are kept, of successes and of failures. */
const KEPT = 500
const KEPT_MS = 7 * DAY_MS
/** Characters of an answer that are kept. */
const ANSWER_KEPT = 1_000

const storedAttempt = jsonText.pipe(attemptSchema)
const KINDS = ['succeeded', 'failed'] as const

/** Stores an attempt; the answer is cut and masked. */
export async function noteAttempt(redis: Redis, account: number, id: string, attempt: AttemptDocument): Promise<void> {
  const key = eventKeys(account).attempts(id, attempt.ok ? 'succeeded' : 'failed')
  const answer = cutText(masked(attempt.answer), ANSWER_KEPT).replaceAll(/\p{Cc}+/gu, ' ')
  const text = JSON.stringify({ ...attempt, answer })
  await Promise.all([redis.xadd(key, 'MAXLEN', '~', KEPT, '*', 'a', text), redis.pexpire(key, KEPT_MS)])
}

const cursorSchema = z.tuple([z.string().regex(/^\d{1,15}-\d{1,10}$/), z.string().regex(/^\d{1,15}-\d{1,10}$/)])

/** A page of the attempts, the latest first; undefined for a cursor that is none. `nowMs`: those of 7 days before it. */
export async function listAttempts(
  redis: Redis,
  account: number,
  id: string,
  page: { limit: number; cursor: string | undefined; nowMs: number },
): Promise<{ attempts: AttemptDocument[]; next: string | null } | undefined> {
  const before = page.cursor === undefined ? [undefined, undefined] : readCursor(page.cursor)
  if (before === undefined) return undefined
  const oldest = String(page.nowMs - KEPT_MS)
  const lists = await Promise.all(
    KINDS.map((kind, i) => {
      const from = before[i] === undefined ? '+' : `(${before[i]}`
      return redis.xrevrange(eventKeys(account).attempts(id, kind), from, oldest, 'COUNT', page.limit + 1)
    }),
  )
  const merged = lists
    .flatMap((list, kind) => list.map(([entry, fields]) => ({ kind, entry, text: fields[1] ?? '' })))
    .sort((a, b) => orderOf(b.entry) - orderOf(a.entry))
  const shown = merged.slice(0, page.limit)
  const lastOf = (kind: number): string => shown.findLast((each) => each.kind === kind)?.entry ?? before[kind] ?? LATEST
  const next = merged.length > shown.length ? writeCursor([lastOf(0), lastOf(1)]) : null
  // A duplicate, from a command that was sent again after its reply was lost, is identical.
  const texts = new Set(shown.map(({ text }) => text))
  return { attempts: [...texts].flatMap((text) => storedAttempt.safeParse(text).data ?? []), next }
}

/** Above every entry: nothing of this list was shown yet. */
const LATEST = '999999999999999-0'

const orderOf = (entry: string): number => Number(entry.replace('-', '.'))
const writeCursor = (entries: readonly string[]): string => Buffer.from(entries.join(' ')).toString('base64url')
const readCursor = (text: string): string[] | undefined =>
  cursorSchema.safeParse(Buffer.from(text, 'base64url').toString().split(' ')).data
