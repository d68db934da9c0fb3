// Keeps the temporary folders of tests in memory.
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'

/** A file system in memory that nearly every Linux has. */
const IN_MEMORY = '/dev/shm'
/** Much more than the files of all tests that run at a time. */
const ROOM_BYTES = 4 * 1024 ** 3

/**
 * Puts what the tests keep in temporary folders into memory where there is room: each Redis waits for the disk before it
 * answers, which would be much of the time of a run and shows nothing. (That it waits is shown by the scenario power-loss
 * of the proof.)
 */
export default function setUp(): () => void {
  if (!hasRoom()) return () => undefined
  const folder = mkdtempSync(join(IN_MEMORY, 'laneway-test-'))
  process.env.TMPDIR = folder
  return () => rmSync(folder, { recursive: true, force: true })
}

function hasRoom(): boolean {
  if (!existsSync(IN_MEMORY)) return false
  const { bavail, bsize } = statfsSync(IN_MEMORY)
  return bavail * bsize >= ROOM_BYTES
}
