// The audit log in Redis: a stream for each account, so that a busy account does not push out another's entries, and one for the
// installation with all entries in one order. Both are bounded in count and time.
//
// An entry is written after the act. Dying in between leaves an act without an entry; the other order would leave entries
// of acts that were never done.

import { z } from 'zod'
import { cutText } from '../kernel/cut-text.ts'
import { DAY_MS } from '../kernel/time-units.ts'
import { ACT_TEXT_MAX, type Actor, type AuditEvent, type AuditLogEntry } from '../model/accounts/audit-log.ts'
import type { Redis } from '../redis/connect.ts'
import { accountActivityKey, rootKeys, senderKey } from '../redis/keys.ts'
import { readRecord } from '../redis/records.ts'

export const AUDIT_LOG_KEPT_MS = 90 * DAY_MS
/** Some 150 bytes each. */
const MOST_OF_ACCOUNT = 10_000
const MOST_IN_ALL = 100_000

/** Appends an entry. Rejects when Redis refuses it; the act itself is done already. */
export async function appendToAuditLog(redis: Redis, act: AuditEvent, nowMs: number): Promise<void> {
  const { actor, account, action, target, detail, requestId } = act
  const fields = {
    ...('key_id' in actor ? { key: actor.key_id ?? '', name: actor.key_name } : actor),
    account: String(account),
    action,
    target: target ?? '',
    detail: detail ?? '',
    request: requestId ?? '',
  }
  const list = Object.entries(fields).flatMap(([name, value]) => [name, cutText(value, ACT_TEXT_MAX)])
  await Promise.all([
    append(redis, accountActivityKey(account), MOST_OF_ACCOUNT, list, nowMs),
    append(redis, rootKeys.activity, MOST_IN_ALL, list, nowMs),
  ])
}

/** In the order of the connection; only the first command matters, the others bound what there is. */
async function append(redis: Redis, key: string, most: number, fields: string[], nowMs: number): Promise<void> {
  await Promise.all([
    redis.xadd(key, 'MAXLEN', '~', most, '*', ...fields),
    redis.xtrim(key, 'MINID', '~', nowMs - AUDIT_LOG_KEPT_MS),
    redis.pexpire(key, AUDIT_LOG_KEPT_MS),
  ])
}

/** Whoever did it. */
function actorOf({
  cli,
  system,
  key,
  name,
}: {
  cli?: string | undefined
  system?: 'Laneway' | undefined
  key: string
  name: string
}): Actor {
  if (system !== undefined) return { system }
  return cli === undefined ? { key_id: key === '' ? null : key, key_name: name } : { cli }
}

const orNull = z.string().transform((text) => (text === '' ? null : text))

const storedSchema = z
  .object({
    cli: z.string().optional(),
    system: z.literal('Laneway').optional(),
    key: z.string().default(''),
    name: z.string().default(''),
    account: z.coerce.number().int().nonnegative(),
    action: z.string(),
    target: orNull,
    detail: orNull,
    request: orNull,
  })
  .transform(({ cli, system, key, name, account, request, ...what }) => ({
    actor: actorOf({ cli, system, key, name }),
    account: account === 0 ? null : account,
    ...what,
    request_id: request,
  }))

/**
 * Up to `limit` entries before `cursor` (the latest without one), of one account or of all; `next` is the cursor of the
 * page after it, null on the last. Throws a CorruptRecordError.
 */
export async function readAuditLog(
  redis: Redis,
  of: { account: number | undefined; limit: number; cursor: string | undefined },
  nowMs: number,
): Promise<{ entries: AuditLogEntry[]; next: string | null }> {
  const key = of.account === undefined ? rootKeys.activity : accountActivityKey(of.account)
  const from = of.cursor === undefined ? '+' : `(${of.cursor}`
  // One more than asked for, to know whether there is another page. Old entries are trimmed only in whole blocks.
  const rows = await redis.xrevrange(key, from, nowMs - AUDIT_LOG_KEPT_MS, 'COUNT', of.limit + 1)
  const page = rows.slice(0, of.limit)
  const entries = page.map(([id, flat]) => {
    const fields = Object.fromEntries(pairs(flat))
    const { actor, account, action, target, detail, request_id } = readRecord(storedSchema, `activity ${id}`, fields)
    const at = new Date(Number(id.split('-')[0])).toISOString()
    return { at, actor, account, action, target, target_name: null, detail, request_id }
  })
  await nameTargets(redis, entries)
  return { entries, next: rows.length > of.limit ? (page.at(-1)?.[0] ?? null) : null }
}

/** Acts whose target is the id of a sender, and of its lane. */
const ON_SENDER = /^(?:lane|sender)\./

/** Adds the names of lanes and senders among the targets: at night, a name helps more than an id. */
async function nameTargets(redis: Redis, entries: AuditLogEntry[]): Promise<void> {
  const of = ({ action, target }: AuditLogEntry): string | undefined =>
    ON_SENDER.test(action) && /^\d{1,15}$/.test(target ?? '') ? (target ?? undefined) : undefined
  const ids = [...new Set(entries.flatMap((entry) => of(entry) ?? []))]
  const found = await Promise.all(ids.map((id) => redis.hmget(senderKey(Number(id)), 'name', 'number')))
  const names = new Map(ids.map((id, i) => [id, found[i]?.[0] || (found[i]?.[1] ? `+${found[i][1]}` : null)]))
  for (const entry of entries) entry.target_name = names.get(of(entry) ?? '') ?? null
}

const pairs = (flat: readonly string[]): [string, string][] =>
  flat.flatMap((name, i): [string, string][] => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : []))
