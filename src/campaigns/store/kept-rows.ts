// How many bytes of uploaded rows an account keeps: one hash with the bytes of each campaign and their sum, changed in one
// step. Those of campaigns that are gone are taken off it only when it is full, as with drafts.ts.
import { z } from 'zod'
import { cached } from '../../redis/cached.ts'
import type { Redis } from '../../redis/connect.ts'
import { rowsOfAccountKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { readRecord } from '../../redis/records.ts'
import { parseCampaignId } from '../campaign-id.ts'
import { isKept } from './campaigns.ts'

/** A hash that is full is looked through so often at most. */
const LOOK_MS = 1_000
const AT_ONCE = 200

const keepScript = defineScript(import.meta.url, 'rows-keep')
const kept = z.tuple([z.union([z.literal(0), z.literal(1)]), z.number(), z.number()])

/** Of one campaign: whether its bytes are counted now, those of all, and those it had before. */
interface Kept {
  isCounted: boolean
  total: number
  before: number
}

/**
 * Counts `bytes` for the campaign in place of what it had; not when the account would have more than `most` then (0: there
 * is no limit), and more than before.
 */
export async function keepRows(
  redis: Redis,
  account: number,
  { id, bytes, most }: { id: string; bytes: number; most: number },
): Promise<Kept> {
  const keep = async (): Promise<Kept> => {
    const said = await keepScript(redis, { rows: rowsOfAccountKey(account) }, { id, bytes, most })
    const [isCounted, total, before] = readRecord(kept, 'bytes of rows', said)
    return { isCounted: isCounted === 1, total, before }
  }
  const first = await keep()
  if (first.isCounted) return first
  await removeGone(redis, account)
  return keep()
}

/** The bytes of all campaigns and of this one; where there are `most` or more, after those that are gone were taken off. */
export async function readRows(
  redis: Redis,
  account: number,
  id: string,
  most: number,
): Promise<Pick<Kept, 'total' | 'before'>> {
  const read = async () => {
    const [total, before] = await redis.hmget(rowsOfAccountKey(account), 'total', id)
    return { total: Number(total ?? 0), before: Number(before ?? 0) }
  }
  const first = await read()
  if (first.total < most) return first
  await removeGone(redis, account)
  return read()
}

/** Takes campaigns off the hash that are not kept any more. */
const removeGone = cached(LOOK_MS, async (redis, account: number): Promise<number> => {
  const names = (await redis.hkeys(rowsOfAccountKey(account))).filter((name) => name !== 'total')
  let gone = 0
  for (let from = 0; from < names.length; from += AT_ONCE) {
    await Promise.all(
      names.slice(from, from + AT_ONCE).map(async (name) => {
        const id = parseCampaignId(name)
        if (id !== undefined && (await isKept(redis, id))) return
        gone += 1
        await keepScript(redis, { rows: rowsOfAccountKey(account) }, { id: name, bytes: 0, most: 0 })
      }),
    )
  }
  return gone
})
