// Files of a gallery: their records, which folder or trash they are in, and their public tokens. The bytes are in
// content.ts. A file is in exactly one place: its folder's set of active files, or the trash.
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Draft } from '../../files/drafts.ts'
import type { FileStore } from '../../files/store.ts'
import type { Redis } from '../../redis/connect.ts'
import { fileTokenKey, galleryKeys } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { idField, isThere, optionalField, readHashes, readRecord, timeField } from '../../redis/records.ts'
import { nextId } from '../../redis/sequence.ts'
import { mediaTypeOf } from '../media-type.ts'
import { nowMicros } from './clock.ts'
import { contentPath } from './content.ts'
import { countBytes } from './kept-bytes.ts'
import { addToken, keepToken } from './new-tokens.ts'
import { claimContent } from './purge-trash.ts'

const fileSchema = z.object({
  id: idField,
  /** Owner. */
  account: idField,
  /** Stays while the file is in the trash: that is where a restore puts it. */
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
}

const TOKEN_BYTES = 16

/** The account would have more bytes in its gallery than it may. */
export class GalleryFullError extends Error {
  override name = 'GalleryFullError'
}

const addScript = defineScript(import.meta.url, 'gallery-add-file')
const added = z.enum(['added', 'full', 'uncounted'])

/**
 * Records a file whose content is stored already. The caller has checked that the folder exists. Throws a GalleryFullError
 * when the account would have more than `most` bytes (0: there is no limit).
 */
export async function createFile(redis: Redis, account: number, file: NewFile, most = 0): Promise<GalleryFile> {
  const keys = galleryKeys(account)
  const id = await nextId(redis, 'file')
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const now = await nowMicros(redis, account)
  // The token lives on another node of a cluster, so it cannot be part of the same step. It comes first: a crash here
  // leaves a token that leads nowhere, the other order would leave a file without a working URL.
  await addToken(redis, account, { token, id, nowMs: Math.floor(now / 1_000) })
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
  }
  const add = async () =>
    readRecord(
      added,
      'an added file',
      await addScript(
        redis,
        { file: keys.file(id), filesIn: keys.filesIn(file.folderId), bytes: keys.bytes },
        { id: String(id), size: file.size, most, fields: Object.entries(fields).flat().map(String) },
      ),
    )
  let ended = await add()
  if (ended === 'uncounted') {
    await countBytes(redis, account)
    ended = await add()
  }
  if (ended !== 'added') {
    await redis.del(fileTokenKey(token))
    await keepToken(redis, account, token)
    throw new GalleryFullError(`the gallery of account ${account} has no room for ${file.size} bytes`)
  }
  await keepToken(redis, account, token)
  const [created] = await findFiles(redis, account, [id])
  if (created === undefined) throw new Error(`file ${id} is gone right after it was added`)
  return created
}

/** Puts a draft's content into place and records it as a file of the folder as above. */
export async function addFile(
  redis: Redis,
  files: FileStore,
  account: number,
  folderId: number,
  name: string,
  draft: Draft,
  most = 0,
): Promise<GalleryFile> {
  const type = await mediaTypeOf(draft.path, name)
  await claimContent(redis, draft.hash)
  // Content first: a crash in between leaves bytes that nobody points to, not a file without bytes.
  await files.take(draft.path, contentPath(draft.hash))
  return createFile(redis, account, { folderId, name, hash: draft.hash, size: draft.size, ...type }, most)
}

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

/** Up to `limit` active files of a folder with ids above `after`, by id. */
export async function listFilesIn(
  redis: Redis,
  account: number,
  folder: number,
  after: number,
  limit: number,
): Promise<GalleryFile[]> {
  return listFiles(redis, account, galleryKeys(account).filesIn(folder), after, limit)
}

/** Up to `limit` files in the trash with ids above `after`, by id. */
export async function listTrash(redis: Redis, account: number, after: number, limit: number): Promise<GalleryFile[]> {
  return listFiles(redis, account, galleryKeys(account).trash, after, limit)
}

const trashScript = defineScript(import.meta.url, 'gallery-trash-file')
const restoreScript = defineScript(import.meta.url, 'gallery-restore-file')

const trashKeys = (account: number, id: number) => {
  const { file, trash, prefix } = galleryKeys(account)
  return { file: file(id), trash, prefix }
}

/** Puts an active file into the trash; undefined when there is no active file of this id. */
export async function trashFile(redis: Redis, account: number, id: number): Promise<GalleryFile | undefined> {
  const moved = await trashScript(redis, trashKeys(account, id), { id: String(id) })
  return moved === 1 ? findFile(redis, account, id) : undefined
}

/** Puts a file from the trash back into its folder; undefined when there is none of this id in the trash. */
export async function restoreFile(redis: Redis, account: number, id: number): Promise<GalleryFile | undefined> {
  const moved = await restoreScript(redis, trashKeys(account, id), { id: String(id) })
  return moved === 1 ? findFile(redis, account, id) : undefined
}

async function listFiles(redis: Redis, account: number, set: string, after: number, limit: number) {
  const ids = await redis.zrangebyscore(set, `(${after}`, '+inf', 'LIMIT', 0, limit)
  return findFiles(redis, account, ids.map(Number))
}

async function findFiles(redis: Redis, account: number, ids: readonly number[]): Promise<GalleryFile[]> {
  const hashes = await readHashes(redis, ids.map(galleryKeys(account).file))
  return hashes.flatMap((hash, index) => (isThere(hash) ? [readRecord(fileSchema, `file ${ids[index]}`, hash)] : []))
}
