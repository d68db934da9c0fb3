// Which files of received messages are still to be fetched into galleries. Accounts take turns, and each file is tried again until it
// is settled. A worker that dies with a file leaves it due again after its lease; the id that its file gets is written down
// first, so that the worker that goes on finds a file that is there already, or makes it under the same id.
import { z } from 'zod'
import { DAY_MS } from '../kernel/time-units.ts'
import { redisNowMs } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { galleryKeys, receivedMediaKeys as keys } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { nextId } from '../redis/records.ts'
import { createFolder, findFolder, newFolderId } from './folders.ts'

/** The file of one received message. */
export interface ReceivedMedium {
  account: number
  lane: number
  /** The digest of the message's id, see `inboundDigest`. */
  message: string
}

/** One that a worker has taken: how often it was tried before, and the id that its file gets once there is one. */
export type TakenMedium = ReceivedMedium & { tries: number; fileId: number | undefined }

/** Files of one account that may wait at a time: some 10 MB of Redis. */
const MOST_WAITING = 100_000
/** Longer than WhatsApp keeps a file. */
const KEEP_MS = 9 * DAY_MS
/** A worker that has taken a file is taken for dead after this, unless it holds on. */
const LEASE_MS = 60_000
/** How often a worker renews its lease on a fetch. */
export const HOLD_AGAIN_MS = 20_000
/** A full gallery is reported once in this time. */
const TOLD_MS = DAY_MS
const FOLDER_NAME = 'Received'
const FILES_AT_ONCE = 500

const memberOf = ({ lane, message }: ReceivedMedium): string => `${lane}/${message}`
const keysOf = (account: number) => ({
  accounts: keys.accounts,
  due: `${keys.due}${account}`,
  tries: `${keys.tries}${account}`,
})

/** What the field begins with that has the id of the file of a message, beside how often it was tried. */
const PREFIX = { file: 'file ' } as const

const addScript = defineScript(import.meta.url, 'received-media-add')
const takeScript = defineScript(import.meta.url, 'received-media-take', { names: { PREFIX } })
const settleScript = defineScript(import.meta.url, 'received-media-settle', { names: { PREFIX } })

/** Has the file fetched. Doing it again changes nothing. False when too many of the account wait already. */
export async function addReceivedMedium(redis: Redis, of: ReceivedMedium): Promise<boolean> {
  const { accounts, due } = keysOf(of.account)
  const args = { account: String(of.account), message: memberOf(of), most: MOST_WAITING, keepMs: KEEP_MS }
  return (await addScript(redis, { accounts, due }, args)) === 1
}

const takenSchema = z.union([z.tuple([]), z.tuple([z.coerce.number(), z.string(), z.coerce.number(), z.string()])])

/** Takes a file that is due, unless its account is one of the `busy` ones; undefined when there is none. */
export async function takeReceivedMedium(redis: Redis, busy: readonly number[]): Promise<TakenMedium | undefined> {
  const { accounts, due, tries } = keys
  const args = { leaseMs: LEASE_MS, busy: busy.map(String) }
  const [account, member, count, file] = takenSchema.parse(await takeScript(redis, { accounts, due, tries }, args))
  if (account === undefined || member === undefined || count === undefined) return undefined
  const slash = member.indexOf('/')
  const fileId = file ? Number(file) : undefined
  return { account, lane: Number(member.slice(0, slash)), message: member.slice(slash + 1), tries: count, fileId }
}

/** Says that this worker still fetches it. */
export async function holdReceivedMedium(redis: Redis, of: ReceivedMedium): Promise<void> {
  const untilMs = (await redisNowMs(redis, keys.accounts)) + LEASE_MS
  await redis.zadd(keysOf(of.account).due, 'XX', 'GT', String(untilMs), memberOf(of))
}

/** Nothing more is to be done about the file. */
export const endReceivedMedium = (redis: Redis, of: ReceivedMedium) =>
  settle(redis, of, { againMs: -1, tries: 0, backoffMs: 0 })

/** The file is tried again after `againMs`, and nothing of its account before `backoffMs`. */
export const retryReceivedMedium = (
  redis: Redis,
  of: TakenMedium,
  { againMs, backoffMs }: { againMs: number; backoffMs: number },
) => settle(redis, of, { againMs, tries: of.tries + 1, backoffMs })

async function settle(
  redis: Redis,
  of: ReceivedMedium,
  { againMs, tries, backoffMs }: { againMs: number; tries: number; backoffMs: number },
): Promise<void> {
  const args = { account: String(of.account), message: memberOf(of), againMs, count: tries, backoffMs, keepMs: KEEP_MS }
  await settleScript(redis, keysOf(of.account), args)
}

/** The id that the file gets, always the same one; `make` gives one to a file that has none yet. */
export async function fileIdOf(redis: Redis, of: ReceivedMedium, make: boolean): Promise<number | undefined> {
  const { tries } = keysOf(of.account)
  const field = `${PREFIX.file}${memberOf(of)}`
  if (make && (await redis.hexists(tries, field)) === 0) {
    await redis.hsetnx(tries, field, await nextId(redis, 'file'))
    await redis.pexpire(tries, KEEP_MS)
  }
  const id = await redis.hget(tries, field)
  return id === null ? undefined : Number(id)
}

/** The system folder that received media of the account go into. Dying in between leaves an id that the next one goes on with. */
export async function receivedFolder(redis: Redis, account: number): Promise<number> {
  const key = galleryKeys(account).receivedFolder
  if ((await redis.get(key)) === null) await redis.set(key, await newFolderId(redis), 'NX')
  const id = Number(await redis.get(key))
  if ((await findFolder(redis, account, id)) === undefined)
    await createFolder(redis, account, { name: FOLDER_NAME, isSystem: true, id })
  return id
}

/** Ids of files that a person has sent, by the HMAC of a name of theirs, a page at a time. */
export async function* filesSentBy(redis: Redis, account: number, person: string): AsyncGenerator<number[]> {
  // `0` follows `/`.
  for (let [from, to] = [`[${person}/`, `(${person}0`]; ; ) {
    const members = await redis.zrangebylex(galleryKeys(account).received, from, to, 'LIMIT', 0, FILES_AT_ONCE)
    if (members.length > 0) yield members.map((member) => Number(member.slice(person.length + 1)))
    if (members.length < FILES_AT_ONCE) return
    from = `(${members.at(-1) ?? ''}`
  }
}

/** True for the first who finds the gallery of the account full today. */
export const isFirstToTell = async (redis: Redis, account: number): Promise<boolean> =>
  (await redis.set(keys.told(account), '1', 'PX', TOLD_MS, 'NX')) !== null

/** Files that wait to be fetched, of all accounts. */
export async function countWaitingMedia(redis: Redis): Promise<number> {
  const accounts = await redis.zrange(keys.accounts, '0', '-1')
  const counts = await Promise.all(accounts.map((account) => redis.zcard(`${keys.due}${account}`)))
  return counts.reduce((sum, count) => sum + count, 0)
}
