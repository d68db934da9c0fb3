// Limits how many campaigns of an account are drafts, not started yet. A list of them is kept: a new one is added in the
// step that checks for room; started and deleted ones are removed only when the list is full, and so is what a crash left.

import { z } from 'zod'
import type { CampaignState } from '../../model/campaigns/lifecycle.ts'
import { cached } from '../../redis/cached.ts'
import type { Redis } from '../../redis/connect.ts'
import { draftsOfAccountKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { readRecord } from '../../redis/records.ts'
import { statesOf } from './list.ts'

/** States in which nothing was sent yet. No other state leads back to these. */
const NOT_STARTED: ReadonlySet<CampaignState> = new Set(['draft', 'checking', 'ready', 'blocked', 'scheduled'])
/** One that is on the list and nowhere else is being created, unless it has been there for so long. */
const CREATED_MS = 60_000
/** A full list is checked for removed drafts at most this often. */
const CHECK_EVERY_MS = 1_000

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
const removeStarted = cached(CHECK_EVERY_MS, async (redis, account: number): Promise<number> => {
  const key = draftsOfAccountKey(account)
  const listed = await redis.zrange(key, '0', '-1', 'WITHSCORES')
  const names = listed.filter((_each, i) => i % 2 === 0)
  const isNew = names.map((_name, i) => Number(listed[2 * i + 1]) > Date.now() - CREATED_MS)
  const states = await statesOf(redis, names)
  const over = names.filter((_name, i) => {
    const state = states[i]?.state
    return state === undefined ? !isNew[i] : !NOT_STARTED.has(state)
  })
  if (over.length > 0) await redis.zrem(key, ...over)
  return over.length
})

/** The number of drafts of the account. */
export async function countDrafts(redis: Redis, account: number): Promise<number> {
  await removeStarted(redis, account)
  return redis.zcard(draftsOfAccountKey(account))
}
