// The data folder: made if need be, for its owner only, and proven writable before anything is started.
import { accessSync, chmodSync, constants, mkdirSync, type Stats, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { StartError, systemCode } from './start-error.ts'

const REASONS: Record<string, string> = {
  EACCES: 'permission is missing',
  EPERM: 'permission is missing',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'part of the path is a file',
  EEXIST: 'it is a file',
  ENOSPC: 'the disk is full',
}

/** The folder's absolute path; throws a StartError when it cannot be made or written. */
export function openDataFolder(dataDir: string): string {
  const path = resolve(dataDir)
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    const found = statSync(path)
    if (!found.isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'EEXIST' })
    keepOthersOut(path, found)
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return path
  } catch (error) {
    if (error instanceof StartError) throw error
    const code = systemCode(error) ?? 'unknown error'
    throw new StartError(
      `The data folder ${path} cannot be written (${REASONS[code] ?? code}); set LANEWAY_DATA_DIR to one that can.`,
    )
  }
}

/** Whoever could write here could plant a key that they know. */
function keepOthersOut(path: string, { uid, mode }: Stats): void {
  const user = process.getuid?.() ?? uid
  if (user !== 0 && uid !== user) {
    throw new StartError(`The data folder ${path} belongs to another user; set LANEWAY_DATA_DIR to one of your own.`)
  }
  if ((mode & 0o022) !== 0) chmodSync(path, mode & 0o755)
}
