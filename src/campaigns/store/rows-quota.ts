// Limits how many bytes of uploaded rows an account keeps: one hash with the bytes of each campaign and their sum, changed in
// one step. Those of campaigns that are gone are taken off it only when it is full, as with drafts.

import { z } from 'zod'
import { cached } from '../../redis/cached.ts'
import type { Redis } from '../../redis/connect.ts'
import { rowsOfAccountKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { readRecord } from '../../redis/records.ts'
import { goneAmong } from './list.ts'

/** A full hash is checked for removed campaigns at most this often. */
const CHECK_EVERY_MS = 1_000

const keepScript = defineScript(import.meta.url, 'rows-keep')
const kept = z.tuple([z.union([z.literal(0), z.literal(1)]), z.number(), z.number()])

/** Of one campaign: whether its bytes are counted now, those of all, and those it had before. */
interface Kept {
  isCounted: boolean
  total: number
  before: number
}

/**
 * Counts `bytes` for the campaign in place of its former count, or only in place of `insteadOf`; refuses an increase that would
 * exceed `most` for the account (0: no limit).
 */
export async function keepRows(
  redis: Redis,
  account: number,
  { id, bytes, most, insteadOf = '' }: { id: string; bytes: number; most: number; insteadOf?: number | '' },
): Promise<Kept> {
  const keep = async (): Promise<Kept> => {
    const said = await keepScript(redis, { rows: rowsOfAccountKey(account) }, { id, bytes, most, insteadOf })
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

/** Takes expired campaigns off the hash. */
const removeGone = cached(CHECK_EVERY_MS, async (redis, account: number): Promise<number> => {
  const names = (await redis.hkeys(rowsOfAccountKey(account))).filter((name) => name !== 'total')
  const gone = await goneAmong(redis, names)
  for (const id of gone)
    await keepScript(redis, { rows: rowsOfAccountKey(account) }, { id, bytes: 0, most: 0, insteadOf: '' })
  return gone.length
})
