// Records recent webhooks: the time of the last good one, and how many were refused for a wrong signature. For each account with an
// address of its own, and for the address of the installation (NO_ACCOUNT).
//
// Anybody may post to these addresses, so a process gathers arrivals and writes them every few seconds. A process that is killed loses the
// last few seconds.

import { DAY_MS, HOUR_MS } from '../kernel/time-units.ts'
import { NO_ACCOUNT } from '../model/accounts/permissions.ts'
import type { Redis } from '../redis/connect.ts'
import { webhookArrivalsKey } from '../redis/keys.ts'

/** What came to one address. Times in epoch ms, null: not within 30 days. */
export interface WebhookArrivals {
  lastGoodAtMs: number | null
  refusedLastHour: number
  refusedLastDay: number
}

const WRITE_AFTER_MS = 2_000
const KEPT_MS = 30 * DAY_MS
/** Refusals are counted in stretches of ten minutes. */
const STRETCH_MS = 600_000
const GOOD = 'good'
/** Accounts gathered at a time; those beyond are not counted until they are written down. */
const MOST = 10_000

interface Gathered {
  goodAtMs: number
  refusedAtMs: number
  refused: number
}

const gathered = new WeakMap<Redis, Map<number, Gathered>>()

/** Records a webhook that was signed correctly, or was refused. Never rejects and is never awaited. */
export function noteWebhook(redis: Redis, account: number, what: 'good' | 'refused', nowMs: number): void {
  const all = gathered.get(redis) ?? new Map<number, Gathered>()
  gathered.set(redis, all)
  const of = all.get(account) ?? { goodAtMs: 0, refusedAtMs: 0, refused: 0 }
  if (all.size >= MOST && !all.has(account)) return
  if (all.size === 0) setTimeout(() => void writeWebhooks(redis), WRITE_AFTER_MS).unref()
  all.set(account, of)
  if (what === 'good') of.goodAtMs = nowMs
  else {
    of.refusedAtMs = nowMs
    of.refused += 1
  }
}

/** Writes what was gathered; if Redis refuses it, it is lost. */
export async function writeWebhooks(redis: Redis): Promise<void> {
  const all = [...(gathered.get(redis) ?? [])]
  gathered.get(redis)?.clear()
  await Promise.all(all.map(([account, of]) => write(redis, webhookArrivalsKey(account), of))).catch(() => undefined)
}

async function write(redis: Redis, key: string, { goodAtMs, refusedAtMs, refused }: Gathered): Promise<void> {
  if (goodAtMs > 0) await redis.hset(key, GOOD, goodAtMs)
  if (refused > 0) {
    await redis.hincrby(key, String(stretchOf(refusedAtMs)), refused)
    const old = Object.keys(await redis.hgetall(key)).filter((field) => isOver(field, refusedAtMs))
    if (old.length > 0) await redis.hdel(key, ...old)
  }
  await redis.pexpire(key, KEPT_MS)
}

const stretchOf = (ms: number): number => Math.floor(ms / STRETCH_MS)
const isCount = (field: string): boolean => field !== GOOD
const isOver = (field: string, nowMs: number): boolean => isCount(field) && Number(field) < stretchOf(nowMs - DAY_MS)

/** What came lately to the address of the account, or of the installation. */
async function readWebhookArrivals(redis: Redis, account: number, nowMs: number): Promise<WebhookArrivals> {
  const stored = await redis.hgetall(webhookArrivalsKey(account))
  const refusedSince = (ms: number): number =>
    Object.entries(stored).reduce(
      (sum, [field, count]) => sum + (isCount(field) && Number(field) >= stretchOf(ms) ? Number(count) : 0),
      0,
    )
  return {
    lastGoodAtMs: Number(stored[GOOD]) || null,
    refusedLastHour: refusedSince(nowMs - HOUR_MS),
    refusedLastDay: refusedSince(nowMs - DAY_MS),
  }
}

/**
 * What came lately for an account: to its own address and, while nothing came to that within a day, what was refused at the
 * address of the installation, which WhatsApp may have been given instead. Good ones of that address are the account's only
 * where it has no secret of its own: all such accounts share it.
 */
export async function webhooksOf(
  redis: Redis,
  account: number,
  hasOwnSecret: boolean,
  nowMs: number,
): Promise<WebhookArrivals> {
  const [own, shared] = await Promise.all([
    readWebhookArrivals(redis, account, nowMs),
    readWebhookArrivals(redis, NO_ACCOUNT, nowMs),
  ])
  if (own.refusedLastDay > 0 || (own.lastGoodAtMs ?? 0) > nowMs - DAY_MS) return own
  const sharedGoodAtMs = hasOwnSecret ? 0 : (shared.lastGoodAtMs ?? 0)
  return { ...shared, lastGoodAtMs: Math.max(own.lastGoodAtMs ?? 0, sharedGoodAtMs) || null }
}

/** Forgets what came for an account. */
export const forgetWebhookArrivals = (redis: Redis, account: number): Promise<unknown> =>
  redis.del(webhookArrivalsKey(account))
