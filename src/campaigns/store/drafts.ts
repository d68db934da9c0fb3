// How many campaigns of an account were not started yet. A list of them is kept for counting: a new one is put on it in the
// step that looks whether there is room, and those that were started, or are gone, are taken off it only when it is full. So
// nothing else has to keep it right, and whoever dies in between leaves an entry that is found wrong some day.
import { z } from 'zod'
import { cached } from '../../redis/cached.ts'
import type { Redis } from '../../redis/connect.ts'
import { draftsOfAccountKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { readRecord } from '../../redis/records.ts'
import type { CampaignState } from '../states.ts'
import { statesOf } from './list.ts'

/** States in which nothing was sent yet. From the others none comes back to these. */
const NOT_STARTED: ReadonlySet<CampaignState> = new Set(['draft', 'checking', 'ready', 'blocked', 'scheduled'])
/** One that is on the list and nowhere else is being created, unless it has been there for so long. */
const CREATED_MS = 60_000
/** A list that is full is looked through so often at most. */
const LOOK_MS = 1_000

const addScript = defineScript(import.meta.url, 'draft-add')
const added = z.union([z.literal(0), z.literal(1)])

/** Puts a draft on the list; false when the account has `most` already (0: there is no limit). Twice is once. */
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

/** Takes those off the list that are no drafts any more. */
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

/** How many campaigns of the account were not started. */
export async function countDrafts(redis: Redis, account: number): Promise<number> {
  await removeStarted(redis, account)
  return redis.zcard(draftsOfAccountKey(account))
}
