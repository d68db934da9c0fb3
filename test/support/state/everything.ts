// All that is kept of somebody or something, whatever it is, with what is in it: for tests of what must not be there, and of
// what must not have changed.
import { laneBacklogKeys, laneChunkKeys } from '../../../src/queue/layout.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import {
  activeCampaignsKey,
  contactKeys,
  galleryKeys,
  inDoubtKey,
  lanePrefix,
  queuedAgainKey,
  rootKeys,
  senderKey,
} from '../../../src/redis/keys.ts'
import { stored } from '../stored.ts'

/** Whether a text names a key, as no answer may. */
export const NAMES_A_KEY = /\blw:/i

/** What is kept on a lane. */
export const allOfLane = (redis: Redis, lane: number) => stored(redis, `${lanePrefix(lane)}*`)

/** What is kept of the contacts of an account, or of all. */
export const allOfContacts = (redis: Redis, account: number | '*') =>
  stored(redis, account === '*' ? 'lw:{c*' : `${contactKeys(account).prefix}*`)

/** What a person could see change of an account and one of its lanes. */
export async function allVisible(
  redis: Redis,
  { account, lane }: { account: number; lane: number },
): Promise<Record<string, string>> {
  const patterns = [
    `${galleryKeys(account).prefix}*`,
    `${contactKeys(account).prefix}*`,
    `${lanePrefix(lane)}:m:*`,
    `${lanePrefix(lane)}:campaign:*`,
    `${lanePrefix(lane)}:*:meta`,
    senderKey(lane),
  ]
  return Object.assign({}, ...(await Promise.all(patterns.map((pattern) => stored(redis, pattern)))))
}

/** Names of what is kept of the files of an account, of its events, or of its contacts. */
export const namesOfAccount = (redis: Redis, account: number, of: 'files' | 'events' | 'contacts') =>
  redis.keys(`lw:{${{ files: 'g', events: 'e', contacts: 'c' }[of]}${account}}*`)

/** Of all that is kept, the names of what has no end and belongs to the account or its lanes, or holds one of these texts. */
export async function endlessOf(
  redis: Redis,
  { account, lanes, texts }: { account: number; lanes: readonly number[]; texts: readonly string[] },
  all?: Record<string, string>,
): Promise<string[]> {
  const tags = [`lw:account:${account}`, `{c${account}}`, `{g${account}}`, `{e${account}}`]
  const ofLanes = lanes.flatMap((lane) => [`{l${lane}}`, `lw:sender:${lane}`])
  const found: string[] = []
  for (const [key, value] of Object.entries(all ?? (await stored(redis)))) {
    const isOwn = [...tags, ...ofLanes].some((part) => key === part || key.includes(`${part}:`) || key.endsWith(part))
    const isNamed = texts.some((text) => (key + value).includes(text))
    const isOnList =
      [rootKeys.accounts, rootKeys.eventAccounts].includes(key) && JSON.parse(value).includes(String(account))
    const isToken = key.startsWith('lw:file-token:') && JSON.parse(value).startsWith(`${account} `)
    const isRemoved = key === rootKeys.removedLanes && value.includes(`"${account} `)
    if (!(isOwn || isNamed || isOnList || isToken || isRemoved)) continue
    if ((await redis.pttl(key)) === -1) found.push(key)
  }
  return found
}

/** Where something can be on a lane that keeps its sender from being removed: puts it there, and takes it away. */
export function placesOfWork(redis: Redis, lane: number) {
  const { waiting, prioritized, delayed, active } = laneBacklogKeys(lane)
  const { chunksWaiting, chunksDelayed, chunksActive } = laneChunkKeys(lane)
  const lists = { waiting, active, chunksWaiting, chunksActive }
  const sorted = {
    ...{ prioritized, delayed, chunksDelayed },
    ...{ inDoubt: inDoubtKey(lane), queuedAgain: queuedAgainKey(lane) },
  }
  const campaigns = activeCampaignsKey(lane)
  return [
    ...Object.entries(lists).map(([name, key]) => ({ name, key, put: () => redis.rpush(key, 'a') })),
    ...Object.entries(sorted).map(([name, key]) => ({ name, key, put: () => redis.zadd(key, 1, 'a') })),
    { name: 'campaigns', key: campaigns, put: () => redis.hset(campaigns, '1', 'running') },
  ].map(({ name, key, put }) => ({ name, put, clear: () => redis.del(key) }))
}

/** Everything goes, but numbers are not given out again. */
export async function clearAll(redis: Redis): Promise<void> {
  const keys = (await redis.keys('*')).filter((key) => key !== rootKeys.sequences)
  if (keys.length > 0) await redis.del(...keys)
}
