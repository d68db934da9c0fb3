// Reading the activity, the latest first.
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { accountActivityKey, rootKeys } from '../../redis/keys.ts'
import { readRecord } from '../../redis/records.ts'
import type { ActivityEntry } from './entry.ts'
import { ACTIVITY_KEPT_MS } from './record.ts'

const orNull = z.string().transform((text) => (text === '' ? null : text))

const storedSchema = z
  .object({
    cli: z.string().optional(),
    key: z.string().default(''),
    name: z.string().default(''),
    account: z.coerce.number().int().nonnegative(),
    action: z.string(),
    target: orNull,
    detail: orNull,
    request: orNull,
  })
  .transform(({ cli, key, name, account, request, ...what }) => ({
    actor: cli === undefined ? { key_id: key === '' ? null : key, key_name: name } : { cli },
    account: account === 0 ? null : account,
    ...what,
    request_id: request,
  }))

/**
 * Up to `limit` entries before `cursor` (the latest without one), of one account or of all; `next` is the cursor of the
 * page after it, null on the last. Throws a CorruptRecordError.
 */
export async function readActivity(
  redis: Redis,
  of: { account: number | undefined; limit: number; cursor: string | undefined },
  nowMs: number,
): Promise<{ entries: ActivityEntry[]; next: string | null }> {
  const key = of.account === undefined ? rootKeys.activity : accountActivityKey(of.account)
  const from = of.cursor === undefined ? '+' : `(${of.cursor}`
  // One more than asked for tells whether there is another page. What is too old is trimmed only in whole blocks.
  const rows = await redis.xrevrange(key, from, nowMs - ACTIVITY_KEPT_MS, 'COUNT', of.limit + 1)
  const page = rows.slice(0, of.limit)
  const entries = page.map(([id, flat]) => {
    const fields = Object.fromEntries(pairs(flat))
    const { actor, account, action, target, detail, request_id } = readRecord(storedSchema, `activity ${id}`, fields)
    const at = new Date(Number(id.split('-')[0])).toISOString()
    return { at, actor, account, action, target, detail, request_id }
  })
  return { entries, next: rows.length > of.limit ? (page.at(-1)?.[0] ?? null) : null }
}

const pairs = (flat: readonly string[]): [string, string][] =>
  flat.flatMap((name, i): [string, string][] => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : []))
