// Where the socket of the private Redis is: in its folder, which only its owner may enter. The address of a socket holds
// some 100 bytes; where the folder's path is longer, the socket is in one of its own among the temporary files.
import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StartError } from './start-error.ts'

/** What every system takes: Linux 107 bytes, others 103. A longer one would be cut off without a word. */
export const SOCKET_PATH_MAX_BYTES = 103

const NAME = 'redis.sock'

/**
 * The path of the socket for the Redis whose files are in `dir`, the same at every start; its folder is there and for its
 * owner only. Throws a StartError where such a folder cannot be had.
 */
export function socketPathIn(dir: string, temporary = tmpdir()): string {
  const near = join(dir, NAME)
  if (fits(near)) return ownFolder(dir, near)
  const digest = createHash('sha256').update(dir).digest('hex').slice(0, 16)
  const folder = join(temporary, `laneway-${digest}`)
  const far = join(folder, NAME)
  if (fits(far)) return ownFolder(folder, far)
  throw new StartError(
    `The path ${near} is too long for a socket (at most ${SOCKET_PATH_MAX_BYTES} bytes); set LANEWAY_DATA_DIR to a shorter one.`,
  )
}

const fits = (path: string): boolean => Buffer.byteLength(path) <= SOCKET_PATH_MAX_BYTES

/** Among the temporary files anybody may have made a folder of this name, or a link, before us. */
function ownFolder(folder: string, path: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  const isOurs = process.getuid === undefined || found.uid === process.getuid()
  if (!found.isDirectory() || !isOurs) {
    throw new StartError(`${folder} belongs to somebody else, so the private Redis cannot have its socket there.`)
  }
  if ((found.mode & 0o077) !== 0) chmodSync(folder, 0o700)
  return path
}
