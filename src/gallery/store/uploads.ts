// What WhatsApp has of the gallery: its id of each content for each number that sends it, who uploads one at the moment, and how
// long an upload that went wrong is not tried again. All of it ends by itself, and all times are kept by Redis.
import type { Redis } from '../../redis/connect.ts'
import { mediaUploadKeys } from '../../redis/keys.ts'
import { deleteIf, holdLease } from '../../redis/lock.ts'
import { execOrThrow } from '../../redis/records.ts'

const DAY_MS = 86_400_000
/** WhatsApp keeps an upload for 30 days. An id is used for a day less, and renewed a day before that. */
const USED_MS = 29 * DAY_MS
const RENEW_MS = 28 * DAY_MS
/** A worker that dies while it uploads is taken for dead after this. */
const LEASE_MS = 15_000
/** How often a worker that uploads says that it still does. */
export const HOLD_AGAIN_MS = 5_000
/** What went wrong longer ago says nothing of the next upload. */
const FAILURES_KEPT_MS = 3_600_000
/** An upload that fails is tried again after this, doubled for each failure in a row, up to the last. */
const FIRST_REST_MS = 1_000
const MOST_REST_MS = 300_000
/** For so long a file that WhatsApp refused is refused without asking again. */
const REFUSED_MS = 600_000

/** A content as it goes to one number. */
export interface UploadedContent {
  lane: number
  /** SHA-256, hex. */
  hash: string
}

/** What is known of an upload that went wrong: `refused` for good, or `waits` to be tried again. */
export interface UploadRest {
  outcome: 'refused' | 'waits'
  code: string
  sentence: string
  /** Until it may be tried again (ms). */
  ms: number
}

/** What is known of a content at WhatsApp. */
export type KnownUpload =
  | { kind: 'uploaded'; id: string; isOld: boolean }
  | { kind: 'rests'; rest: UploadRest }
  | { kind: 'unknown' }

/** What is known of the content for the number of this lane. */
export async function findUpload(redis: Redis, { lane, hash }: UploadedContent, nowMs: number): Promise<KnownUpload> {
  const keys = mediaUploadKeys(lane, hash)
  const [upload, rest] = await redis.mget(keys.upload, keys.rest)
  if (typeof upload === 'string') {
    const { id, renewAtMs } = readUpload(upload)
    return { kind: 'uploaded', id, isOld: nowMs >= renewAtMs && typeof rest !== 'string' }
  }
  if (typeof rest !== 'string') return { kind: 'unknown' }
  const ms = await redis.pttl(keys.rest)
  return ms > 0 ? { kind: 'rests', rest: { ...readRest(rest), ms } } : { kind: 'unknown' }
}

function readUpload(text: string): { id: string; renewAtMs: number } {
  const space = text.indexOf(' ')
  return { id: text.slice(space + 1), renewAtMs: Number(text.slice(0, space)) }
}

function readRest(text: string): Omit<UploadRest, 'ms'> {
  const [outcome = '', code = '', ...sentence] = text.split('|')
  return { outcome: outcome === 'refused' ? 'refused' : 'waits', code, sentence: sentence.join('|') }
}

/** WhatsApp has taken the content under this id. */
export async function keepUpload(redis: Redis, of: UploadedContent, id: string, nowMs: number): Promise<void> {
  const keys = mediaUploadKeys(of.lane, of.hash)
  await execOrThrow(
    redis
      .multi()
      .set(keys.upload, `${nowMs + RENEW_MS} ${id}`, 'PX', USED_MS)
      .del(keys.rest),
  )
}

/** Notes that an upload went wrong. `askedMs`: WhatsApp said when it may be tried again. Returns how long it rests (ms). */
export async function restUpload(
  redis: Redis,
  of: UploadedContent,
  { outcome, code, sentence }: Omit<UploadRest, 'ms'>,
  askedMs?: number,
): Promise<number> {
  const keys = mediaUploadKeys(of.lane, of.hash)
  const failures = outcome === 'refused' ? 0 : await countFailure(redis, of)
  const ms = outcome === 'refused' ? REFUSED_MS : Math.max(askedMs ?? 0, restMs(failures))
  await redis.set(keys.rest, `${outcome}|${code}|${sentence}`, 'PX', ms)
  return ms
}

const restMs = (failures: number): number =>
  Math.min(MOST_REST_MS, FIRST_REST_MS * 2 ** Math.min(20, Math.max(0, failures - 1)))

async function countFailure(redis: Redis, { lane, hash }: UploadedContent): Promise<number> {
  const { failures } = mediaUploadKeys(lane, hash)
  const count = await redis.incr(failures)
  await redis.pexpire(failures, FAILURES_KEPT_MS)
  return count
}

/**
 * Forgets an id that WhatsApp does not know any more, unless there is another one by now. The first time the content may be
 * uploaded again at once; a WhatsApp that forgets each id right away is given longer and longer rests.
 */
export async function forgetUpload(redis: Redis, of: UploadedContent, id: string): Promise<void> {
  const keys = mediaUploadKeys(of.lane, of.hash)
  const upload = await redis.get(keys.upload)
  if (upload === null || readUpload(upload).id !== id || !(await deleteIf(redis, keys.upload, upload))) return
  const failures = await countFailure(redis, of)
  if (failures < 2) return
  const sentence = 'WhatsApp does not know the file a moment after it was uploaded.'
  await redis.set(keys.rest, `waits|media_gone|${sentence}`, 'PX', restMs(failures))
}

/** Makes this worker the one that uploads the content, or keeps it that; false while another one does. */
export const holdUpload = (redis: Redis, { lane, hash }: UploadedContent, holder: string, mayTake: boolean) =>
  holdLease(redis, mediaUploadKeys(lane, hash).lease, { holder, ms: LEASE_MS, mayTake })

/** The upload has ended, one way or the other. */
export const releaseUpload = (redis: Redis, { lane, hash }: UploadedContent, holder: string) =>
  deleteIf(redis, mediaUploadKeys(lane, hash).lease, holder)
