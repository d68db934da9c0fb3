// Where bytes live that are too large for Redis: gallery files, lists of recipients, refused rows. A folder that all
// producers and workers share, or a bucket that speaks S3. What is to be kept is first written down whole as a draft on
// this machine (drafts.ts) and then taken over in one step, so that a crash in the middle leaves nothing half done.
import type { Readable } from 'node:stream'

/** A file that is kept. */
export interface StoredFile {
  name: string
  /** When it was taken over, epoch ms. */
  writtenMs: number
}

/** Bytes by name; names are paths with slashes, such as `gallery/ab/abcd…`. All methods reject with a FilesAwayError
 * when the store cannot be reached, refuses our credentials or is full. */
export interface FileStore {
  /** Where drafts are written, on this machine. */
  readonly drafts: string
  /** Takes over a draft. Once this resolves, it is there under its name for good, and the draft is gone. */
  take(draft: string, name: string): Promise<void>
  /** The bytes from `from` to before `to`, all by default. Rejects with a FileMissingError. */
  read(name: string, part?: { from: number; to: number }): Promise<Readable>
  /** Bytes of the file. Rejects with a FileMissingError. */
  sizeOf(name: string): Promise<number>
  /** All files whose names begin with the prefix, which ends with a slash. */
  list(prefix: string): AsyncIterable<StoredFile>
  /** Removes a file; one that is not there is none to remove. */
  remove(name: string): Promise<void>
  /** An address under which a client gets the file from the store itself for some minutes; undefined where there is none. */
  addressOf(name: string, as: { type: string; saveAs: string | undefined }): Promise<string | undefined>
  close(): void
}

/** There is no file of that name. */
export class FileMissingError extends Error {
  override name = 'FileMissingError'
}

/** The store cannot be used for now: try again later. */
export class FilesAwayError extends Error {
  override name = 'FilesAwayError'
}

/** Node's codes of a disk or a mount that cannot be used for now. */
const AWAY = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'ESTALE', 'ETIMEDOUT', 'EMFILE', 'ENFILE', 'EROFS'])

/** An error of a folder, or a FilesAwayError where its disk is full or gone. */
export function awayOr(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return AWAY.has(code) ? new FilesAwayError(`the folder for files cannot be used: ${code}`, { cause: error }) : error
}

/** Whether an error, or what caused it, is a store that cannot be used for now. */
export const isFilesAway = (error: unknown): boolean =>
  error instanceof FilesAwayError || (error instanceof Error && error.cause !== undefined && isFilesAway(error.cause))

/** The whole of a part of a file, at most some hundred KB. */
export async function readPart(files: FileStore, name: string, part?: { from: number; to: number }): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of await files.read(name, part)) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}

/** Removes all files whose names begin with the prefix. */
export async function removeAll(files: FileStore, prefix: string): Promise<void> {
  for await (const { name } of files.list(prefix)) await files.remove(name)
}
