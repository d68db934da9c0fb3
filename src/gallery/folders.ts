// Folders of a gallery. Nothing removes a folder, so one that was found stays.
import { z } from 'zod'
import { redisNowMicros } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { galleryKeys } from '../redis/keys.ts'
import {
  createInList,
  idField,
  isThere,
  nextId,
  optionalField,
  readHashes,
  readRecord,
  timeField,
} from '../redis/records.ts'

const folderSchema = z.object({
  id: idField,
  /** Owner. */
  account: idField,
  name: z.string().min(1),
  /** Null for a top-level folder. */
  parent_id: optionalField,
  is_system: z.enum(['0', '1']).transform((flag) => flag === '1'),
  created_at: timeField,
  updated_at: timeField,
})

/** A folder with the number of its active files, which is counted when it is read and stored nowhere. */
export type Folder = z.infer<typeof folderSchema> & { file_count: number }

/** An id for a new folder; an unused one leaves a gap. */
export const newFolderId = (redis: Redis): Promise<number> => nextId(redis, 'folder')

/**
 * Creates a folder, with a new id unless it brings one. The caller has checked the name and that the parent exists. One
 * of this id that is there already stays as it is.
 */
export async function createFolder(
  redis: Redis,
  account: number,
  folder: { name: string; parentId?: number; isSystem?: boolean; id?: number },
): Promise<Folder> {
  const keys = galleryKeys(account)
  const id = folder.id ?? (await newFolderId(redis))
  const now = await nowMicros(redis, account)
  const fields = {
    ...{ id, account, name: folder.name, parent_id: folder.parentId ?? '', is_system: folder.isSystem ? '1' : '0' },
    ...{ created_at: now, updated_at: now },
  }
  await createInList(redis, { hash: keys.folder(id), list: keys.folders }, fields, { name: id, score: id })
  return existing(await findFolder(redis, account, id), id)
}

/** A folder of the account with its number of files; undefined for another account's or none. */
export async function findFolder(redis: Redis, account: number, id: number): Promise<Folder | undefined> {
  const [folder] = await findFolders(redis, account, [id])
  return folder
}

/** The folders of these ids in their order, without those that do not exist. */
export async function findFolders(redis: Redis, account: number, ids: readonly number[]): Promise<Folder[]> {
  const keys = galleryKeys(account)
  const hashes = await readHashes(redis, ids.map(keys.folder))
  const counts = await Promise.all(ids.map((id) => redis.zcard(keys.filesIn(id))))
  return hashes.flatMap((hash, index) => {
    if (!isThere(hash)) return []
    return [{ ...readRecord(folderSchema, `folder ${ids[index]}`, hash), file_count: counts[index] ?? 0 }]
  })
}

/** Up to `limit` folders with ids above `after`, by id. */
export async function listFolders(redis: Redis, account: number, after: number, limit: number): Promise<Folder[]> {
  const ids = await redis.zrangebyscore(galleryKeys(account).folders, `(${after}`, '+inf', 'LIMIT', 0, limit)
  return findFolders(redis, account, ids.map(Number))
}

/** Gives an existing folder another name; nothing else of it changes but `updated_at`. */
export async function renameFolder(redis: Redis, account: number, id: number, name: string): Promise<Folder> {
  await redis.hset(galleryKeys(account).folder(id), { name, updated_at: await nowMicros(redis, account) })
  return existing(await findFolder(redis, account, id), id)
}

function existing(folder: Folder | undefined, id: number): Folder {
  if (folder === undefined) throw new Error(`folder ${id} is gone although nothing removes folders`)
  return folder
}

/**
 * Now, in microseconds since 1970. Redis' clock, because several producers write records of an account that are compared by
 * time.
 */
export const nowMicros = (redis: Redis, account: number): Promise<number> =>
  redisNowMicros(redis, galleryKeys(account).folders)
