// Files of a gallery: their records, their folder or the trash, their public tokens. A file is in exactly one place: its
// folder's set of active files, or the trash. The bytes are in content.ts.
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Draft } from '../files/drafts.ts'
import type { FileStore } from '../files/store.ts'
import type { Redis } from '../redis/connect.ts'
import { fileTokenKey, galleryKeys } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { idField, isThere, nextId, optionalField, readHashes, readRecord, timeField } from '../redis/records.ts'
import { claimContent, contentPath, noteRecorded, noteWithoutFile } from './content.ts'
import { nowMicros } from './folders.ts'
import { mediaTypeOf } from './media-type.ts'

const fileSchema = z.object({
  id: idField,
  /** Owner. */
  account: idField,
  /** Stays while the file is in the trash, for a restore. */
  folder_id: idField,
  name: z.string().min(1),
  original_name: z.string().min(1),
  /** SHA-256 of the content, hex. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  mime_type: z.string().min(1),
  /** Without dot. */
  extension: z.string(),
  /** Bytes. */
  size: z.coerce.number().int().nonnegative(),
  /** The secret part of the public URL. */
  token: z.string().min(1),
  uploaded_at: timeField,
  created_at: timeField,
  updated_at: timeField,
  /** When it went into the trash; null while it is active. */
  deleted_at: optionalField,
  /** Who sent it, of a file of a received message, by all their names: HMACs, separated by spaces. */
  people: z.string().default(''),
})
export type GalleryFile = z.infer<typeof fileSchema>

/** A file to be recorded, whose content is in place under `hash`. */
export interface NewFile {
  folderId: number
  name: string
  hash: string
  mimeType: string
  extension: string
  size: number
  /** Of a file of a received message: its id, and who sent it, see `people` above. */
  received?: { id: number; people: readonly string[] } | undefined
}

const TOKEN_BYTES = 16

/** Path of the public address of a file. */
export const publicPathOf = ({ token, name }: Pick<GalleryFile, 'token' | 'name'>): string =>
  `/media/${token}/${encodeURIComponent(name)}`

/** The account would have more bytes in its gallery than it may. */
export class GalleryFullError extends Error {
  override name = 'GalleryFullError'
}

const addScript = defineScript(import.meta.url, 'gallery-add-file')

/**
 * Records a file whose content is stored already. The caller has checked that the folder exists. One that brings its id and is
 * there already stays as it is. Throws a GalleryFullError when the account would have more than `most` bytes (0: no limit).
 */
export async function createFile(redis: Redis, account: number, file: NewFile, most = 0): Promise<GalleryFile> {
  const keys = galleryKeys(account)
  const { received } = file
  const id = received?.id ?? (await nextId(redis, 'file'))
  const people = received?.people ?? []
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const now = await nowMicros(redis, account)
  // The token may be on another node of a cluster, so it is not part of the step. It comes first: a crash leaves a token
  // without a file, which is on a list for `removeLooseTokens`, rather than a file without a working URL.
  await redis.zadd(keys.newTokens, Math.floor(now / 1_000), token)
  await redis.set(fileTokenKey(token), `${account} ${id}`)
  const fields = {
    id,
    account,
    folder_id: file.folderId,
    name: file.name,
    original_name: file.name,
    hash: file.hash,
    mime_type: file.mimeType,
    extension: file.extension,
    size: file.size,
    token,
    uploaded_at: now,
    created_at: now,
    updated_at: now,
    deleted_at: '',
    ...(people.length > 0 && { people: people.join(' ') }),
  }
  const added = await addScript(
    redis,
    { file: keys.file(id), filesIn: keys.filesIn(file.folderId), bytes: keys.bytes, received: keys.received },
    { id: String(id), size: file.size, most, fields: Object.entries(fields).flat().map(String), people },
  )
  if (added !== 1) await redis.del(fileTokenKey(token))
  await redis.zrem(keys.newTokens, token)
  if (added === 0) {
    throw new GalleryFullError(`the gallery of account ${account} has no room for ${file.size} bytes`)
  }
  const created = await findFile(redis, account, id)
  if (created === undefined) throw new Error(`file ${id} is gone right after it was added`)
  return created
}

/** Removes tokens from before `beforeMs` (epoch ms), or all, whose file was never added. */
export async function removeLooseTokens(redis: Redis, account: number, beforeMs: number | '+inf'): Promise<void> {
  const keys = galleryKeys(account)
  for (const token of await redis.zrangebyscore(keys.newTokens, '-inf', beforeMs)) {
    const id = Number((await redis.get(fileTokenKey(token)))?.split(' ')[1])
    if (Number.isNaN(id) || (await redis.exists(keys.file(id))) === 0) await redis.del(fileTokenKey(token))
    await redis.zrem(keys.newTokens, token)
  }
}

/**
 * Puts a draft's content into place and records it as a file of the folder, as `createFile` does. `name`: as people see it; a
 * function makes it from the extension.
 */
export async function addFile(
  redis: Redis,
  files: FileStore,
  account: number,
  folderId: number,
  name: string | ((extension: string) => string),
  draft: Draft,
  { most = 0, received }: { most?: number } & Pick<NewFile, 'received'> = {},
): Promise<GalleryFile> {
  const { hash, size } = draft
  const type = await mediaTypeOf(draft.path, typeof name === 'string' ? name : '')
  await claimContent(redis, hash)
  // Content first: a crash in between, or a gallery that is full, leaves bytes without a file, which go in an hour, and not a file
  // without bytes.
  const notedMs = await noteWithoutFile(redis, hash)
  await files.take(draft.path, contentPath(hash))
  const called = typeof name === 'string' ? name : name(type.extension)
  const file = await createFile(redis, account, { folderId, name: called, hash, size, ...type, received }, most)
  await noteRecorded(redis, hash, notedMs)
  return file
}

/** Bytes of all files of the account, including the trash. */
export const keptBytes = async (redis: Redis, account: number): Promise<number> =>
  Number((await redis.get(galleryKeys(account).bytes)) ?? 0)

/** A file of the account, in the trash or not; undefined for another account's or none. */
export async function findFile(redis: Redis, account: number, id: number): Promise<GalleryFile | undefined> {
  const [file] = await findFiles(redis, account, [id])
  return file
}

/** The file behind the token of a public URL, in the trash or not. */
export async function findFileByToken(redis: Redis, token: string): Promise<GalleryFile | undefined> {
  const owner = await redis.get(fileTokenKey(token))
  if (owner === null) return undefined
  const [account, id] = readRecord(z.tuple([idField, idField]), 'file token', owner.split(' '))
  return findFile(redis, account, id)
}

/** Up to `limit` active files of a folder, or of the trash, with ids above `after`, by id. */
export async function listFiles(
  redis: Redis,
  account: number,
  where: number | 'trash',
  after: number,
  limit: number,
): Promise<GalleryFile[]> {
  const keys = galleryKeys(account)
  const set = where === 'trash' ? keys.trash : keys.filesIn(where)
  const ids = await redis.zrangebyscore(set, `(${after}`, '+inf', 'LIMIT', 0, limit)
  return findFiles(redis, account, ids.map(Number))
}

async function findFiles(redis: Redis, account: number, ids: readonly number[]): Promise<GalleryFile[]> {
  const hashes = await readHashes(redis, ids.map(galleryKeys(account).file))
  return hashes.flatMap((hash, index) => (isThere(hash) ? [readRecord(fileSchema, `file ${ids[index]}`, hash)] : []))
}

const trashScript = defineScript(import.meta.url, 'gallery-trash-file')

/** Puts an active file into the trash; undefined when there is no active file of this id. */
export const trashFile = (redis: Redis, account: number, id: number) => setTrashed(redis, account, id, true)

/** Puts a file from the trash back into its folder; undefined when there is none of this id in the trash. */
export const restoreFile = (redis: Redis, account: number, id: number) => setTrashed(redis, account, id, false)

async function setTrashed(
  redis: Redis,
  account: number,
  id: number,
  intoTrash: boolean,
): Promise<GalleryFile | undefined> {
  const { file, trash, prefix } = galleryKeys(account)
  const moved = await trashScript(redis, { file: file(id), trash, prefix }, { id: String(id), intoTrash })
  return moved === 1 ? findFile(redis, account, id) : undefined
}
