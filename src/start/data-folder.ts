// The data folder, made if need be, for its owner only, and proven writable before anything is started; and small JSON
// files in it, read through a schema and written whole or not at all.
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  readFileSync,
  renameSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { resolve } from 'node:path'
import type { z } from 'zod'
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

/** Another user who could write here could plant a key of their own. */
function keepOthersOut(path: string, { uid, mode }: Stats): void {
  const user = process.getuid?.() ?? uid
  if (user !== 0 && uid !== user) {
    throw new StartError(`The data folder ${path} belongs to another user; set LANEWAY_DATA_DIR to one of your own.`)
  }
  if ((mode & 0o022) !== 0) chmodSync(path, mode & 0o755)
}

/** What the file holds; undefined when there is none. Throws a StartError that names a file nobody can read. */
export function readJsonFile<S extends z.ZodType>(path: string, schema: S): z.output<S> | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
  const parsed = schema.safeParse(jsonOrUndefined(text))
  if (parsed.success) return parsed.data
  throw new StartError(`The file ${path} is corrupt; remove it and start again.`)
}

/** Written aside and put in place by rename, mode 0600: a reader sees the old file or the new one, never half of it. */
export function writeJsonFile(path: string, content: unknown): void {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  renameSync(draft, path)
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
