// The schedule and progress of template syncs, one for each account at WhatsApp: a ZSET of due times, and a hash for each with progress and
// result. A worker that dies leaves the sync due, and the next one continues after the last page.
import { z } from 'zod'
import { DAY_MS } from '../kernel/time-units.ts'
import { redisNowMs } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { rootKeys, templateSyncKey } from '../redis/keys.ts'
import { readRecord } from '../redis/records.ts'

/** An account at WhatsApp, of one of our accounts. */
export interface SyncedAccount {
  account: number
  wabaId: string
}

const memberOf = ({ account, wabaId }: SyncedAccount): string => `${account}/${wabaId}`

function readMember(member: string): SyncedAccount[] {
  const [, account, wabaId] = /^(\d+)\/(\d+)$/.exec(member) ?? []
  return account === undefined || wabaId === undefined ? [] : [{ account: Number(account), wabaId }]
}

const KEPT_MS = 90 * DAY_MS

const count = z.coerce.number().int().nonnegative().default(0)
const time = z.coerce.number().int().optional()

const recordSchema = z.object({
  state: z.enum(['waiting', 'running', 'done', 'failed']).default('waiting'),
  /** When a person or a webhook asked for it last; of a person who. */
  asked_at: time,
  /** When the sync under way, or the last one, began and ended (ms). */
  began_at: time,
  ended_at: time,
  /** When it continues, while WhatsApp or a fault makes it wait. */
  again_at: time,
  /** Of the next page, while it is under way. */
  after: z.string().default(''),
  pages: count,
  bytes: count,
  /** Templates in the list, and the results. */
  listed: count,
  added: count,
  changed: count,
  /** Removed because WhatsApp has deleted them, or kept as deleted because a campaign names them. */
  removed: count,
  kept_deleted: count,
  not_sendable: count,
  unreadable: count,
  of_another: count,
  /** Faults in a row. */
  failures: count,
  /** Whole lists in a row that were empty although templates were listed before. */
  empty_lists: count,
  /** Why it is not done: a code and a sentence. */
  problem: z.string().default(''),
  sentence: z.string().default(''),
})
export type TemplateSync = z.infer<typeof recordSchema>

/** The record of a sync; all defaults when there was none yet. */
export async function findTemplateSync(redis: Redis, synced: SyncedAccount): Promise<TemplateSync> {
  const raw = await redis.hgetall(templateSyncKey(synced.account, synced.wabaId))
  return readRecord(recordSchema, `template sync ${memberOf(synced)}`, raw)
}

/** Updates fields of a sync. */
export async function writeTemplateSync(
  redis: Redis,
  synced: SyncedAccount,
  fields: Partial<Record<keyof TemplateSync, string | number>>,
): Promise<void> {
  const key = templateSyncKey(synced.account, synced.wabaId)
  await redis.hset(key, fields)
  await redis.pexpire(key, KEPT_MS)
}

/** A webhook starts another sync at the earliest this long after the last: WhatsApp limits such requests by the hour. */
const AFTER_WEBHOOK_MS = 300_000
/** Delay after a webhook, because related ones come together. */
const GATHERED_MS = 5_000

/** The sentence of a sync that WhatsApp throttles. */
export const THROTTLED = 'throttled'

/**
 * Schedules a sync for now, or soon after a webhook, but not before WhatsApp's backoff ends. A sync in progress is followed by another.
 */
export async function askForSync(redis: Redis, synced: SyncedAccount, by: 'person' | 'webhook'): Promise<void> {
  const nowMs = await redisNowMs(redis, rootKeys.templateSyncs)
  const { ended_at: endedMs = 0, again_at: againMs = 0, problem } = await findTemplateSync(redis, synced)
  await writeTemplateSync(redis, synced, { asked_at: nowMs })
  const soonest = by === 'person' ? nowMs : Math.max(nowMs + GATHERED_MS, endedMs + AFTER_WEBHOOK_MS)
  const dueMs = problem === THROTTLED ? Math.max(soonest, againMs) : soonest
  await redis.zadd(rootKeys.templateSyncs, 'LT', String(dueMs), memberOf(synced))
}

/** Schedules the sync for this time (ms), replacing the former one. */
export async function setSyncDue(redis: Redis, synced: SyncedAccount, dueMs: number): Promise<void> {
  await redis.zadd(rootKeys.templateSyncs, String(dueMs), memberOf(synced))
}

/** Schedules the sync for now, unless it is scheduled already. */
export async function planSync(redis: Redis, synced: SyncedAccount, nowMs: number): Promise<void> {
  await redis.zadd(rootKeys.templateSyncs, 'NX', String(nowMs), memberOf(synced))
}

/** Up to `most` that are due at this time (ms), the longest due first. */
export async function dueSyncs(redis: Redis, nowMs: number, most: number): Promise<SyncedAccount[]> {
  const due = await redis.zrangebyscore(rootKeys.templateSyncs, '-inf', nowMs, 'LIMIT', 0, most)
  return due.flatMap(readMember)
}

/** All planned syncs, or those of one account. */
export async function plannedSyncs(redis: Redis, account?: number): Promise<SyncedAccount[]> {
  const all = (await redis.zrange(rootKeys.templateSyncs, '0', '-1')).flatMap(readMember)
  return account === undefined ? all : all.filter((each) => each.account === account)
}

/** Removes the sync of this account at WhatsApp. */
export async function dropSync(redis: Redis, synced: SyncedAccount): Promise<void> {
  await redis.zrem(rootKeys.templateSyncs, memberOf(synced))
  await redis.del(templateSyncKey(synced.account, synced.wabaId))
}

/** True for the first caller in a minute. */
export async function isFirstToPlan(redis: Redis): Promise<boolean> {
  return (await redis.set(rootKeys.templateSyncsPlanned, '1', 'PX', 59_000, 'NX')) !== null
}
