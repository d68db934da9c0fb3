// Tags: the contact lists of an account. A name belongs to one tag, however it is spelled in upper and lower case.
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { contactKeys } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { idField, isThere, nextId, readHashes, readRecord } from '../../redis/records.ts'

const tagSchema = z.object({ id: idField, name: z.string().min(1) })
export type Tag = z.infer<typeof tagSchema>

const createScript = defineScript(import.meta.url, 'contacts-create-tag')

/** An id for a new tag; one that nobody uses leaves a gap. */
export const newTagId = (redis: Redis): Promise<number> => nextId(redis, 'tag')

/**
 * Creates a tag, with a new id unless it brings one; when the account has one of this name already, returns that one's
 * id instead.
 */
export async function createTag(
  redis: Redis,
  account: number,
  name: string,
  given?: number,
): Promise<{ id: number; isNew: boolean }> {
  const keys = contactKeys(account)
  const fresh = given ?? (await newTagId(redis))
  const owner = await createScript(
    redis,
    { names: keys.tagNames, tag: keys.tag(fresh) },
    { folded: folded(name), id: String(fresh), name },
  )
  const id = readRecord(idField, 'a tag name', owner)
  return { id, isNew: id === fresh }
}

/** A tag of the account by its id; undefined for another account's or none. */
export async function findTag(redis: Redis, account: number, id: number): Promise<Tag | undefined> {
  const hash = await redis.hgetall(contactKeys(account).tag(id))
  return isThere(hash) ? readRecord(tagSchema, `tag ${id}`, hash) : undefined
}

/** All tags of the account, oldest first. */
export async function listTags(redis: Redis, account: number): Promise<Tag[]> {
  const keys = contactKeys(account)
  const ids = readRecord(z.array(idField), 'the tag names', await redis.hvals(keys.tagNames)).sort((a, b) => a - b)
  const hashes = await readHashes(redis, ids.map(keys.tag))
  return hashes.map((hash, index) => readRecord(tagSchema, `tag ${ids[index]}`, hash))
}

/** Forgets all contacts and tags of an account. If the process dies in between, another forgets the rest. */
export async function forgetContacts(redis: Redis, account: number): Promise<void> {
  const keys = contactKeys(account)
  for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
    const [next, found] = await redis.hscan(keys.phones, cursor, 'COUNT', CONTACTS_AT_ONCE)
    cursor = next
    const ids = found.filter((_each, i) => i % 2 === 1)
    if (ids.length > 0) await redis.unlink(...ids.map((id) => keys.contact(Number(id))))
  }
  for (const id of (await redis.hvals(keys.tagNames)).map(Number)) await redis.unlink(keys.members(id), keys.tag(id))
  await redis.unlink(keys.phones, keys.tagNames)
}

const CONTACTS_AT_ONCE = 500

/** How many contacts each of the tags has. */
export async function countMembers(redis: Redis, account: number, tags: readonly Pick<Tag, 'id'>[]): Promise<number[]> {
  return Promise.all(tags.map(({ id }) => redis.zcard(contactKeys(account).members(id))))
}

/**
 * Equal for names that differ in case only. There and back, because some letters meet only on the way: ß, ẞ and SS,
 * σ and ς, İ and i̇. Composed and decomposed accents look the same, so they are the same, also those that casing takes apart.
 */
const folded = (name: string): string =>
  name.normalize('NFD').toLowerCase().toUpperCase().toLowerCase().normalize('NFC')
