// Drafts: what is being received or written, on this machine, until a FileStore takes it over. A crash leaves a draft
// behind; it is removed a day later.
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DAY_MS } from '../kernel/time-units.ts'
import { awayOr, type FileStore } from './store.ts'

/** Content that has been received whole and is on disk. */
export interface Draft {
  path: string
  /** SHA-256, hex. */
  hash: string
  /** Bytes. */
  size: number
  /** Removes it. Does nothing once a FileStore has taken it. */
  discard(): Promise<void>
}

/** No upload and no preflight takes so long. */
const DRAFT_LIMIT_MS = DAY_MS

/** Content that is larger than it may be. */
export class TooLargeError extends Error {
  override name = 'TooLargeError'
}

/** The path of a new draft, in a folder that exists. */
export async function newDraft(files: FileStore): Promise<string> {
  await mkdir(files.drafts, { recursive: true, mode: 0o700 })
  return join(files.drafts, randomUUID())
}

/**
 * Receives content into a draft. When the source fails, brings more than `maxBytes` (a TooLargeError), or the disk is full (a
 * FilesAwayError), nothing is left of it and the error is passed on.
 */
export async function receive(
  files: FileStore,
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<Draft> {
  const path = await newDraft(files)
  const discard = () => rm(path, { force: true })
  const hash = createHash('sha256')
  let size = 0
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const chunk of source) {
      size += chunk.length
      if (size > maxBytes) throw new TooLargeError(`more than ${maxBytes} bytes`)
      hash.update(chunk)
      await file.appendFile(chunk).catch(throwAway)
    }
    await file.sync().catch(throwAway)
  } catch (error) {
    await discard()
    throw error
  } finally {
    await file.close()
  }
  return { path, hash: hash.digest('hex'), size, discard }
}

/** A disk that is full is no fault of who sends. */
function throwAway(error: unknown): never {
  throw awayOr(error)
}

/** Removes drafts that a crash has left over. */
export async function removeOldDrafts(files: FileStore, nowMs: number): Promise<void> {
  for (const name of await readdir(files.drafts).catch(() => [])) {
    const path = join(files.drafts, name)
    // Another process may have finished with it in the meantime.
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && nowMs - found.mtimeMs > DRAFT_LIMIT_MS) await rm(path, { recursive: true, force: true })
  }
}
