// The keys that seal provider tokens and sign opaque ids: LANEWAY_SECRET_KEYS, else a file that all processes on one data
// folder share.

import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The file has no usable key. The message is for the person at the terminal. */
export class SecretKeyError extends Error {
  override name = 'SecretKeyError'
}

/**
 * The configured keys, the newest first, else the one in `<data dir>/secret.key` (mode 0600), which is created on first use:
 * written to another name and linked, so that processes that start together agree on one key and none reads half of it.
 */
export function secretKeysOf(config: { secretKeys: readonly string[]; dataDir: string }): readonly string[] {
  if (config.secretKeys.length > 0) return config.secretKeys
  const path = join(config.dataDir, 'secret.key')
  const existing = readKey(path)
  if (existing !== undefined) return [longEnough(existing, path)]
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
  return [longEnough(readFileSync(path, 'utf8').trim(), path)]
}

/** As long as a configured one has to be: an empty file would be a key that everybody knows. */
const KEY_MIN = 32

function longEnough(key: string, path: string): string {
  if (key.length >= KEY_MIN) return key
  throw new SecretKeyError(`The file ${path} holds no key of at least ${KEY_MIN} characters; restore it from a backup.`)
}

function readKey(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
