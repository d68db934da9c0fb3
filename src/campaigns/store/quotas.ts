// Limits how many campaigns of an account are drafts, not started yet. A list of them is kept: a new one is added in the
// step that checks for room; started and deleted ones are removed only when the list is full, and so is what a crash left.
import { z } from 'zod'
import type { CampaignState } from '../../model/campaigns/campaign.ts'
import type { Redis } from '../../redis/connect.ts'
import { draftsOfAccountKey, rowsOfAccountKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { cached, readRecord } from '../../redis/records.ts'
import { goneAmong, statesOf } from './list.ts'

/** States in which nothing was sent yet. No other state leads back to these. */
const NOT_STARTED: ReadonlySet<CampaignState> = new Set(['draft', 'checking', 'ready', 'blocked', 'scheduled'])
/** One that is on the list and nowhere else is being created, unless it has been there for so long. */
const CREATED_MS = 60_000
/** A full list is checked for removed drafts at most this often. */
const LOOK_MS = 1_000

const addScript = defineScript(import.meta.url, 'draft-add')
const added = z.union([z.literal(0), z.literal(1)])

/** Puts a draft on the list; false when the account has `most` already (0: no limit). Idempotent. */
export async function addDraft(
  redis: Redis,
  account: number,
  { id, most, nowMs }: { id: string; most: number; nowMs: number },
): Promise<boolean> {
  const add = async (): Promise<boolean> => {
    const said = await addScript(redis, { drafts: draftsOfAccountKey(account) }, { id, most, now: nowMs })
    return readRecord(added, 'list of drafts', said) === 1
  }
  if (await add()) return true
  await removeStarted(redis, account)
  return add()
}

/** Takes campaigns off the list that are no drafts any more. */
const removeStarted = cached(LOOK_MS, async (redis, account: number): Promise<number> => {
  const key = draftsOfAccountKey(account)
  const listed = await redis.zrange(key, '0', '-1', 'WITHSCORES')
  const names = listed.filter((_each, place) => place % 2 === 0)
  const isNew = names.map((_name, place) => Number(listed[2 * place + 1]) > Date.now() - CREATED_MS)
  const states = await statesOf(redis, names)
  const over = names.filter((_name, place) => {
    const state = states[place]?.state
    return state === undefined ? !isNew[place] : !NOT_STARTED.has(state)
  })
  if (over.length > 0) await redis.zrem(key, ...over)
  return over.length
})

/** The number of drafts of the account. */
export async function countDrafts(redis: Redis, account: number): Promise<number> {
  await removeStarted(redis, account)
  return redis.zcard(draftsOfAccountKey(account))
}

// How many bytes of uploaded rows an account keeps: one hash with the bytes of each campaign and their sum, changed in one
// step. Those of campaigns that are gone are taken off it only when it is full, as with drafts.

/** A full hash is checked for removed campaigns at most this often. */
const ROWS_LOOK_MS = 1_000

const keepScript = defineScript(import.meta.url, 'rows-keep')
const kept = z.tuple([z.union([z.literal(0), z.literal(1)]), z.number(), z.number()])

/** Of one campaign: whether its bytes are counted now, those of all, and those it had before. */
interface Kept {
  isCounted: boolean
  total: number
  before: number
}

/**
 * Counts `bytes` for the campaign in place of its former count; refuses an increase that would exceed `most` for the account (0: no
 * limit).
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

/** Takes expired campaigns off the hash. */
const removeGone = cached(ROWS_LOOK_MS, async (redis, account: number): Promise<number> => {
  const names = (await redis.hkeys(rowsOfAccountKey(account))).filter((name) => name !== 'total')
  const gone = await goneAmong(redis, names)
  for (const id of gone) await keepScript(redis, { rows: rowsOfAccountKey(account) }, { id, bytes: 0, most: 0 })
  return gone.length
})
