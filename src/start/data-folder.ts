// The data folder: made if need be, for its owner only, and proven writable before anything is started.
import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
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
    if (!statSync(path).isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'EEXIST' })
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return path
  } catch (error) {
    const code = systemCode(error) ?? 'unknown error'
    throw new StartError(
      `The data folder ${path} cannot be written (${REASONS[code] ?? code}); set LANEWAY_DATA_DIR to a folder that can.`,
    )
  }
}
