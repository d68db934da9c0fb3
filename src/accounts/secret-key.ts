// The keys that seal provider tokens and sign what comes back to us: LANEWAY_SECRET_KEYS, else a file that all
// processes on one data folder share.
import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The configured keys, the newest first, else the one in `<data dir>/secret.key` (mode 0600), which is made on first use. Written aside
 * and then linked, so that two processes that start together agree on one key and none reads half of it.
 */
export function secretKeysOf(config: { secretKeys: readonly string[]; dataDir: string }): readonly string[] {
  if (config.secretKeys.length > 0) return config.secretKeys
  const path = join(config.dataDir, 'secret.key')
  const existing = readKey(path)
  if (existing !== undefined) return [existing]
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, randomBytes(32).toString('base64url'), { mode: 0o600 })
  try {
    linkSync(draft, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return [readFileSync(path, 'utf8').trim()]
}

function readKey(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
