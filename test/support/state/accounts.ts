// What is kept of an account: its settings, keys, senders, templates, contacts and files.
import type { Redis } from '../../../src/redis/connect.ts'
import {
  accountActivityKey,
  accountKey,
  contactKeys,
  credentialKey,
  credentialsOfAccountKey,
  erasureKey,
  galleryKeys,
  openRequeuesKey,
  requeueJobKey,
  rootKeys,
  senderKey,
  senderNumberKey,
  sendersOfAccountKey,
  templatesKey,
} from '../../../src/redis/keys.ts'
import { entriesAt, namesAt, recordAt, timesAt, valueAt } from './handles.ts'

/** The record of an account, its settings among it. */
export const accountRecord = (redis: Redis, account: number) => recordAt(redis, accountKey(account))

/** All accounts there are. */
export const accountsKnown = (redis: Redis) => namesAt(redis, rootKeys.accounts)

/** Who did what in the account. */
export const activityOf = (redis: Redis, account: number) => entriesAt(redis, accountActivityKey(account))

/** The record of a sender. */
export const senderRecord = (redis: Redis, lane: number) => recordAt(redis, senderKey(lane))

/** Senders of an account, by their numbers and names. */
export const sendersOf = (redis: Redis, account: number) => recordAt(redis, sendersOfAccountKey(account))

/** Whose the number of a sender is. */
export const ownerOfNumber = (redis: Redis, digits: string) => valueAt(redis, senderNumberKey(digits))

/** Templates of an account, by name and language. */
export const templatesOf = (redis: Redis, account: number) => recordAt(redis, templatesKey(account))

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
