// What is kept of an account: its settings, keys, senders, templates, contacts, files and the events that it is told of; and
// of the installation that all accounts share.
import { sourceKey } from '../../../src/events/store/outbox.ts'
import { delayedUntil, endpointDelayedKey } from '../../../src/lanes/bullmq/layout.ts'
import { runningRedisClock } from '../../../src/redis/clock.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import {
  accountActivityKey,
  accountKey,
  clockDoubtKey,
  contactKeys,
  credentialKey,
  credentialsOfAccountKey,
  erasureKey,
  eventKeys,
  galleryKeys,
  historyKey,
  openRequeuesKey,
  portfolioKey,
  rateKey,
  requeueJobKey,
  rootKeys,
  senderKey,
  senderNumberKey,
  sendersOfAccountKey,
  templateSyncKey,
  templatesKey,
} from '../../../src/redis/keys.ts'
import { DOUBT_MS } from '../../../src/redis/trusted-clock.ts'
import { entriesAt, namesAt, recordAt, timesAt, valueAt } from './handles.ts'

/** The record of an account, its settings among it. */
export const accountRecord = (redis: Redis, account: number) => recordAt(redis, accountKey(account))

/** All accounts there are. */
export const accountsKnown = (redis: Redis) => namesAt(redis, rootKeys.accounts)

/** Who did what in the account. */
export const activityOf = (redis: Redis, account: number) => entriesAt(redis, accountActivityKey(account))

/** The record of a sender. */
export const senderRecord = (redis: Redis, lane: number) => recordAt(redis, senderKey(lane))

/** The record of the template sync of an account at WhatsApp. */
export const templateSyncRecord = (redis: Redis, account: number, wabaId: string) =>
  recordAt(redis, templateSyncKey(account, wabaId))

/** The record of a portfolio. */
export const portfolioRecord = (redis: Redis, portfolio: number) => recordAt(redis, portfolioKey(portfolio))

/** Senders of an account, by their numbers and names. */
export const sendersOf = (redis: Redis, account: number) => recordAt(redis, sendersOfAccountKey(account))

/** Whose the number of a sender is. */
export const ownerOfNumber = (redis: Redis, digits: string) => valueAt(redis, senderNumberKey(digits))

/** Templates of an account, by name and language. */
export const templatesOf = (redis: Redis, account: number) => recordAt(redis, templatesKey(account))

/** Who of an account's recipients wants nothing, and since when. */
export const optOutsOf = (redis: Redis, account: number) => timesAt(redis, contactKeys(account).optOuts)

/** API keys of an account: id and what stands for the secret. */
export const credentialsOf = (redis: Redis, account: number) => recordAt(redis, credentialsOfAccountKey(account))

/** The record of an API key, by what stands for its secret. */
export const credentialRecord = (redis: Redis, secretHash: string) => recordAt(redis, credentialKey(secretHash))

/** Records of all API keys there are, by where they are kept. */
export const credentialRecords = async (redis: Redis) =>
  (await redis.keys(credentialKey('*'))).map((key) => ({ key, ...recordAt(redis, key) }))

/** Sessions of the console, and the lists of those of a key. */
export const allSessions = async (redis: Redis) =>
  (await redis.keys('lw:*session*')).map((name) => ({ name, ...valueAt(redis, name) }))

/** A job that sends messages again. */
export const requeueJobRecord = (redis: Redis, job: string) => recordAt(redis, requeueJobKey(job))

/** Jobs of an account that send messages again and are not done. */
export const openRequeuesOf = (redis: Redis, account: number) => timesAt(redis, openRequeuesKey(account))

/** An erasure of a person, and how far it is. */
export const erasureRecord = (redis: Redis, job: string) => recordAt(redis, erasureKey(job))

/** Contacts of an account, and who is to be left alone. */
export function contactsOf(redis: Redis, account: number) {
  const keys = contactKeys(account)
  return {
    contact: (id: number) => recordAt(redis, keys.contact(id)),
    members: (tag: number) => timesAt(redis, keys.members(tag)),
    tagNames: recordAt(redis, keys.tagNames),
    phones: recordAt(redis, keys.phones),
    optOuts: timesAt(redis, keys.optOuts),
    erasedOptOuts: timesAt(redis, keys.erasedOptOuts),
    optOutSources: recordAt(redis, keys.optOutSources),
    tombstones: timesAt(redis, keys.tombstones),
    /** How many names are kept of people who have several, and the names of one bucket of them. */
    names: recordAt(redis, keys.names),
    namesIn: (bucket: string) => recordAt(redis, keys.namesIn(bucket)),
  }
}

/** Files of an account. */
export function galleryOf(redis: Redis, account: number) {
  const keys = galleryKeys(account)
  return {
    folders: timesAt(redis, keys.folders),
    folder: (id: number) => recordAt(redis, keys.folder(id)),
    filesIn: (folder: number) => timesAt(redis, keys.filesIn(folder)),
    file: (id: number) => recordAt(redis, keys.file(id)),
    trash: timesAt(redis, keys.trash),
    keptBytes: valueAt(redis, keys.bytes),
    newTokens: timesAt(redis, keys.newTokens),
    move: (id: string) => recordAt(redis, keys.move(id)),
    /** Ids of all bulk moves. */
    moves: async () => (await redis.keys(keys.move('*'))).map((key) => key.slice(keys.move('').length)),
  }
}

/** How many public addresses of files lead somewhere. */
export const fileTokens = async (redis: Redis): Promise<number> => (await redis.keys('lw:file-token:*')).length

/** Content of files that nobody may have any more, by since when. */
export const contentWithoutFile = (redis: Redis) => timesAt(redis, rootKeys.contentWithoutFile)

/** The record of an endpoint. */
export const endpointRecord = (redis: Redis, account: number, id: string) =>
  recordAt(redis, eventKeys(account).endpoint(id))

/** Endpoints of an account, by when they were made. */
export const endpointsOf = (redis: Redis, account: number) => timesAt(redis, eventKeys(account).endpoints)

/** Up to where an endpoint was told, by lane. */
export const cursorsOf = (redis: Redis, account: number, id: string) => recordAt(redis, eventKeys(account).cursors(id))

/** Since when nobody has wanted events of the account. */
export const listeningOf = (redis: Redis, account: number) => recordAt(redis, eventKeys(account).listening)

/** Where what happens is written down: to the account itself (0), and on its lanes. */
export const outboxesOf = (redis: Redis, account: number, sources: readonly number[]) =>
  sources.map((source) => entriesAt(redis, sourceKey(account, source)))

/** Accounts that want to be told of events. */
export const eventAccounts = (redis: Redis) => namesAt(redis, rootKeys.eventAccounts)

/** Endpoints by when the relay looks at what waits for them, as `<account> <endpoint>`. */
export const endpointLooks = (redis: Redis) => timesAt(redis, rootKeys.dueEndpoints)

/** When the first of what waits for the endpoint is due; 0 when nothing does. */
export async function firstRetryOf(redis: Redis, id: string): Promise<number> {
  return delayedUntil((await redis.zrange(endpointDelayedKey(id), '0', '0', 'WITHSCORES'))[1] ?? '')
}

/** Redis' time, as the relay sees it. */
export const relayClock = (redis: Redis) => runningRedisClock(redis, rootKeys.relay)

/** Lanes that the sweep must look at, by when. */
export const dueLanes = (redis: Redis) => timesAt(redis, rootKeys.dueLanes)

/** Lanes whose senders are there, and their accounts. */
export const lanesKnown = (redis: Redis) => recordAt(redis, rootKeys.lanes)

/** Workers, by when they were last heard of. */
export const workersHeardOf = (redis: Redis) => timesAt(redis, rootKeys.workers)

/** The number of the layout that a release has noted. */
export const noteLayout = (redis: Redis, number: number) => redis.zadd(rootKeys.layout, number, 'layout')

/** As if the part that migrates had been frozen for too long. */
export const loseLayoutLease = (redis: Redis) => redis.del(rootKeys.layoutLease)

/** The last numbers that were given out. */
export const lastNumbers = (redis: Redis) => recordAt(redis, rootKeys.sequences)

/** Held while a sender is added or removed. */
export const sendersLock = (redis: Redis) => valueAt(redis, rootKeys.sendersLock)

/** That lists of requeueable messages were trimmed lately. */
export const trimmedLately = (redis: Redis) => valueAt(redis, rootKeys.trimmed)

/** Data keys that the installation has used. */
export const dataKeysSeen = (redis: Redis) => recordAt(redis, rootKeys.dataKeys)

/** Figures of a lane, or of the installation, in one hour or day. */
export const historyOf = (redis: Redis, lane: number | undefined, resolution: string, chunk: number) =>
  recordAt(redis, historyKey(lane, resolution, chunk))

/** Names of all figures of a lane with this resolution. */
export const historyNamesOf = (redis: Redis, lane: number, resolution: string) =>
  redis.keys(historyKey(lane, resolution, 0).replace(/0$/, '*'))

/** Requests that may still come of a key, of an account or from an address. */
export const rateOf = (redis: Redis, of: Parameters<typeof rateKey>[0], who: string) => valueAt(redis, rateKey(of, who))

/** What processes tell each other. */
const CHANNELS = { lanesToWake: rootKeys.wakeLanes, laneHasWork: rootKeys.wake, laneToReopen: rootKeys.reopen }

/** Hears on a connection of its own what processes tell each other. */
export const listenFor = (listener: Redis, of: keyof typeof CHANNELS) => listener.subscribe(CHANNELS[of])

/** A doubt about the clock of Redis, by so many ms, that nobody ended, as it is once that clock was set back by `backMs`. */
export const leaveClockDoubt = (redis: Redis, offMs: number, backMs: number) =>
  redis.set(clockDoubtKey(''), offMs, 'PX', DOUBT_MS + backMs)

/** In how many ms the doubt about the clock of Redis ends by itself. */
export const clockDoubtEndsInMs = async (redis: Redis): Promise<number> => {
  const [key = ''] = await redis.keys(clockDoubtKey('*'))
  return redis.pttl(key)
}

/** The announcement that checks of opt-outs are valid for longer. */
export const slowChecksOf = (redis: Redis) => ({
  isAnnounced: async () => (await redis.exists(rootKeys.slowChecks)) === 1,
  leftMs: () => redis.pttl(rootKeys.slowChecks),
  forget: () => redis.del(rootKeys.slowChecks),
})
