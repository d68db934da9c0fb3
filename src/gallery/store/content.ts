// The bytes of gallery files: <data dir>/gallery/<first two characters of the hash>/<hash>, stored once per content
// whoever uploads it. All producers share the folder. A file comes into place by rename, complete and on disk, so what
// stands under a hash is whole; a crash before that leaves a draft in gallery/incoming.
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** A draft: content that has been received and is not yet in place. */
export interface Draft {
  /** Absolute or relative to the working folder, as the data folder is. */
  path: string
  /** SHA-256, hex. */
  hash: string
  /** Bytes. */
  size: number
  /** Puts it into place under its hash, for good. */
  keep(): Promise<void>
  /** Removes it. Does nothing once it is kept. */
  discard(): Promise<void>
}

/** Drafts older than this are left over from a crash: no upload takes a day. */
const DRAFT_LIMIT_MS = 86_400_000

/** Where content stands, relative to the data folder: the `path` of a gallery file. */
export const contentPath = (hash: string): string => `gallery/${hash.slice(0, 2)}/${hash}`

/** Receives content into a draft. When the source fails, the draft is removed and the error passed on. */
export async function receiveContent(
  dataDir: string,
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<Draft> {
  const folder = join(dataDir, 'gallery', 'incoming')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, randomUUID())
  const discard = () => rm(path, { force: true })
  const hash = createHash('sha256')
  let size = 0
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const chunk of source) {
      hash.update(chunk)
      size += chunk.length
      await file.appendFile(chunk)
    }
    await file.sync()
  } catch (error) {
    await discard()
    throw error
  } finally {
    await file.close()
  }
  const digest = hash.digest('hex')
  return { path, hash: digest, size, discard, keep: () => putInPlace(path, join(dataDir, contentPath(digest))) }
}

/** Removes drafts that a crash has left over. */
export async function removeOldDrafts(dataDir: string, nowMs: number): Promise<void> {
  const folder = join(dataDir, 'gallery', 'incoming')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    // Another producer may have kept or removed it in the meantime.
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && nowMs - found.mtimeMs > DRAFT_LIMIT_MS) await rm(path, { force: true })
  }
}

/** Content of the same hash may be there already; it is replaced by the same bytes. */
async function putInPlace(draft: string, place: string): Promise<void> {
  const folder = dirname(place)
  const made = await mkdir(folder, { recursive: true, mode: 0o700 })
  await rename(draft, place)
  await syncFolder(folder)
  if (made !== undefined) await syncFolder(dirname(made))
}

/** Without this a power cut can undo the rename although the record in Redis is kept. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
