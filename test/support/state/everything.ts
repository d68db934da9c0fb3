// All that is kept of somebody or something, whatever it is, with what is in it: for tests of what must not be there, and of
// what must not have changed.
import { laneBacklogKeys } from '../../../src/lanes/bullmq/layout.ts'
import { primariesOf, type Redis } from '../../../src/redis/connect.ts'
import {
  activeCampaignsKey,
  contactKeys,
  galleryKeys,
  inDoubtKey,
  lanePrefix,
  placesKey,
  queuedAgainKey,
  rootKeys,
  senderKey,
} from '../../../src/redis/keys.ts'

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

/** Names of everything that is kept whose names hold the text. */
export const namesWith = (redis: Redis, text: string) => keysLike(redis, `*${text}*`)

/** Names of what is kept of the files of an account, of its events, or of its contacts. */
export const namesOfAccount = (redis: Redis, account: number, of: 'files' | 'events' | 'contacts') =>
  keysLike(redis, `lw:{${{ files: 'g', events: 'e', contacts: 'c' }[of]}${account}}*`)

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
  const lists = { waiting, active }
  const sorted = {
    ...{ prioritized, delayed, places: placesKey(lane) },
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

/** Every key that matches and what it holds, as JSON. */
export async function stored(redis: Redis, pattern = '*'): Promise<Record<string, string>> {
  const keys = (await keysLike(redis, pattern)).sort()
  const values = await Promise.all(keys.map(async (key) => JSON.stringify(await contentOf(redis, key))))
  return Object.fromEntries(keys.map((key, i) => [key, values[i] ?? '']))
}

/** Of a cluster those of all its parts. */
const keysLike = async (redis: Redis, pattern: string): Promise<string[]> =>
  (await Promise.all(primariesOf(redis).map((each) => each.keys(pattern)))).flat()

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'string':
      return redis.get(key)
    case 'hash':
      return redis.hgetall(key)
    case 'list':
      return redis.lrange(key, 0, -1)
    case 'set':
      return (await redis.smembers(key)).sort()
    case 'zset':
      return redis.zrange(key, '0', '-1', 'WITHSCORES')
    case 'stream':
      return redis.xrange(key, '-', '+')
    default:
      return undefined
  }
}

/** How the bytes of each kind are read. */
const READ: Readonly<Record<string, readonly string[]>> = {
  string: ['GET'],
  hash: ['HGETALL'],
  list: ['LRANGE', '0', '-1'],
  set: ['SMEMBERS'],
  zset: ['ZRANGE', '0', '-1', 'WITHSCORES'],
  stream: ['XRANGE', '-', '+'],
}

/** Everything that is kept, as `[name, what is in it]`, bytes as characters; empty where it is gone by now. */
export async function storedBytes(redis: Redis): Promise<[name: string, bytes: string][]> {
  const bytesOf = async (key: string): Promise<string> => {
    const [command = 'GET', ...rest] = READ[await redis.type(key)] ?? []
    return flat(await redis.callBuffer(command, key, ...rest).catch(() => ''))
  }
  return Promise.all(
    (await keysLike(redis, '*')).map(async (key): Promise<[string, string]> => [key, await bytesOf(key)]),
  )
}

const flat = (reply: unknown): string =>
  Array.isArray(reply) ? reply.map(flat).join(' ') : Buffer.isBuffer(reply) ? reply.toString('latin1') : ''
