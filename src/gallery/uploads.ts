// What WhatsApp has of the gallery: its id of each content for each number that sends it, who uploads one at the moment, and how
// long an upload that went wrong is not tried again. All of it ends by itself, and all times are kept by Redis.
import { DAY_MS, HOUR_MS } from '../kernel/time-units.ts'
import type { Redis } from '../redis/connect.ts'
import { mediaUploadKeys } from '../redis/keys.ts'
import { deleteIf, holdLease } from '../redis/lock.ts'
import { defineScript } from '../redis/lua.ts'

/** WhatsApp keeps an upload for 30 days. An id is used for a day less, and renewed a day before that. */
const USED_MS = 29 * DAY_MS
const RENEW_MS = 28 * DAY_MS
/** A worker that dies while it uploads is taken for dead after this. */
const LEASE_MS = 15_000
/** How often a worker renews its lease on an upload. */
export const HOLD_AGAIN_MS = 5_000
/** Failures longer ago do not count for the next upload. */
const FAILURES_KEPT_MS = HOUR_MS
/** An upload that fails is tried again after this, doubled for each failure in a row, up to the last. */
const FIRST_BACKOFF_MS = 1_000
const MOST_BACKOFF_MS = 300_000
/** For so long a file that WhatsApp refused is refused without asking again. */
const REFUSED_MS = 600_000

/** A content as it goes to one number. */
export interface UploadedContent {
  lane: number
  /** SHA-256, hex. */
  hash: string
}

/** What is known of an upload that went wrong: `refused` for good, or `waits` to be tried again. */
export interface UploadBackoff {
  outcome: 'refused' | 'waits'
  code: string
  sentence: string
  /** Until it may be tried again (ms). */
  ms: number
}

/** What is known of a content at WhatsApp. */
export type KnownUpload =
  | { kind: 'uploaded'; id: string; isOld: boolean }
  | { kind: 'backing_off'; backoff: UploadBackoff }
  | { kind: 'unknown' }

/** What is known of the content for the number of this lane. */
export async function findUpload(redis: Redis, { lane, hash }: UploadedContent, nowMs: number): Promise<KnownUpload> {
  const keys = mediaUploadKeys(lane, hash)
  const [upload, backoff] = await redis.mget(keys.upload, keys.backoff)
  if (typeof upload === 'string') {
    const { id, renewAtMs } = readUpload(upload)
    return { kind: 'uploaded', id, isOld: nowMs >= renewAtMs && typeof backoff !== 'string' }
  }
  if (typeof backoff !== 'string') return { kind: 'unknown' }
  const ms = await redis.pttl(keys.backoff)
  return ms > 0 ? { kind: 'backing_off', backoff: { ...readBackoff(backoff), ms } } : { kind: 'unknown' }
}

function readUpload(text: string): { id: string; renewAtMs: number } {
  const space = text.indexOf(' ')
  return { id: text.slice(space + 1), renewAtMs: Number(text.slice(0, space)) }
}

function readBackoff(text: string): Omit<UploadBackoff, 'ms'> {
  const [outcome = '', code = '', ...sentence] = text.split('|')
  return { outcome: outcome === 'refused' ? 'refused' : 'waits', code, sentence: sentence.join('|') }
}

const keepScript = defineScript(import.meta.url, 'upload-keep')
const backoffScript = defineScript(import.meta.url, 'upload-backoff')

/** WhatsApp has taken the content under this id. */
export async function keepUpload(redis: Redis, content: UploadedContent, id: string, nowMs: number): Promise<void> {
  const { upload, backoff } = mediaUploadKeys(content.lane, content.hash)
  await keepScript(redis, { upload, backoff }, { text: `${nowMs + RENEW_MS} ${id}`, keptMs: USED_MS })
}

/** Notes that an upload went wrong. `retryAfterMs`: WhatsApp said when it may be tried again. Returns how long it backs off (ms). */
export const backOffUpload = (
  redis: Redis,
  content: UploadedContent,
  why: Omit<UploadBackoff, 'ms'>,
  retryAfterMs = 0,
): Promise<number> =>
  why.outcome === 'refused'
    ? noteBackoff(redis, content, why, { leastMs: REFUSED_MS, from: 0 })
    : noteBackoff(redis, content, why, { leastMs: retryAfterMs, from: 1 })

/** `from`: the number of failures from which it backs off; 0: this failure does not count. */
async function noteBackoff(
  redis: Redis,
  content: UploadedContent,
  { outcome, code, sentence }: Omit<UploadBackoff, 'ms'>,
  how: { leastMs: number; from: number },
): Promise<number> {
  const { backoff, failures } = mediaUploadKeys(content.lane, content.hash)
  const lengths = { firstMs: FIRST_BACKOFF_MS, mostMs: MOST_BACKOFF_MS, keptMs: FAILURES_KEPT_MS }
  const args = { text: `${outcome}|${code}|${sentence}`, ...how, ...lengths }
  return Number(await backoffScript(redis, { backoff, failures }, args))
}

/**
 * Forgets an id that WhatsApp does not know any more, unless there is another one by now. The first time the content may be
 * uploaded again at once; a WhatsApp that forgets each id right away makes it back off longer and longer.
 */
export async function forgetUpload(redis: Redis, content: UploadedContent, id: string): Promise<void> {
  const keys = mediaUploadKeys(content.lane, content.hash)
  const upload = await redis.get(keys.upload)
  if (upload === null || readUpload(upload).id !== id || !(await deleteIf(redis, keys.upload, upload))) return
  const sentence = 'WhatsApp does not know the file a moment after it was uploaded.'
  await noteBackoff(redis, content, { outcome: 'waits', code: 'media_gone', sentence }, { leastMs: 0, from: 2 })
}

/** Makes this worker the one that uploads the content, or keeps it that; false while another one does. */
export const holdUpload = (redis: Redis, { lane, hash }: UploadedContent, holder: string, mayTake: boolean) =>
  holdLease(redis, mediaUploadKeys(lane, hash).lease, { holder, ms: LEASE_MS, mayTake })

/** The upload has ended, one way or the other. */
export const releaseUpload = (redis: Redis, { lane, hash }: UploadedContent, holder: string) =>
  deleteIf(redis, mediaUploadKeys(lane, hash).lease, holder)
