// The bytes of gallery files, stored once per content: the same bytes may be files of several accounts.
//
// The hash of a removed file is noted; so is that of a file being added, until it is recorded. After an hour, when no such upload is
// still running, content that no file has is removed. An upload of the same content in between removes the note, and waits while the
// content is being removed (`claimContent`).
import { setTimeout as sleep } from 'node:timers/promises'
import type { FileStore } from '../files/store.ts'
import { HOUR_MS } from '../kernel/time-units.ts'
import { redisNowMs } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { contentRemovalKey, galleryKeys, rootKeys } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'

/** No upload takes this long from its last byte to its record. */
const SETTLED_MS = HOUR_MS
const HASHES_AT_ONCE = 10_000
const FILES_AT_ONCE = 500
/** Removing content takes less than REMOVING_MS; a process that was held up for longer than SURE_MS gives up. */
const REMOVING_MS = 60_000
const SURE_MS = 20_000
const ASK_AGAIN_MS = 50

/** The name of content in the file store: the `path` of a gallery file. */
export const contentPath = (hash: string): string => `gallery/${hash.slice(0, 2)}/${hash}`

/**
 * A file with this content is being removed, or has yet to be recorded: in an hour `removeContent` looks whether any file has it.
 * Returns the time of the note, for `noteRecorded`.
 */
export async function noteWithoutFile(redis: Redis, hash: string): Promise<number> {
  const key = rootKeys.contentWithoutFile
  const atMs = await redisNowMs(redis, key)
  await redis.zadd(key, atMs, hash)
  return atMs
}

const recordedScript = defineScript(import.meta.url, 'gallery-content-recorded')

/** A file with this content was recorded: removes the note, unless it was renewed after `atMs` because a file was removed. */
export async function noteRecorded(redis: Redis, hash: string, atMs: number): Promise<void> {
  await recordedScript(redis, { withoutFile: rootKeys.contentWithoutFile }, { hash, atMs })
}

/** Removes content that no file of these accounts has had for an hour. Returns how many pieces of content it removed. */
export async function removeContent(
  redis: Redis,
  files: FileStore,
  accounts: readonly number[],
  nowMs: number,
): Promise<number> {
  const without = rootKeys.contentWithoutFile
  const hashes = new Set(await redis.zrangebyscore(without, '-inf', nowMs - SETTLED_MS, 'LIMIT', 0, HASHES_AT_ONCE))
  if (hashes.size === 0) return 0
  for (const account of accounts) {
    for await (const used of hashesOf(redis, account)) {
      if (hashes.delete(used)) await redis.zrem(without, used)
    }
  }
  let removed = 0
  for (const hash of hashes) {
    const began = performance.now()
    await redis.set(contentRemovalKey(hash), '1', 'PX', REMOVING_MS)
    // An earlier upload has taken the hash off; a later one finds the key and waits.
    if ((await redis.zrem(without, hash)) === 1 && performance.now() - began < SURE_MS) {
      await files.remove(contentPath(hash))
      removed += 1
    }
    await redis.del(contentRemovalKey(hash))
  }
  return removed
}

/** The hashes of all files of an account, including the trash. */
async function* hashesOf(redis: Redis, account: number): AsyncGenerator<string> {
  const keys = galleryKeys(account)
  const folders = await redis.zrange(keys.folders, '0', '-1')
  // Twice, so that a file that is moved meanwhile is found in one list or the other.
  const lists = [...folders.map((folder) => keys.filesIn(Number(folder))), keys.trash]
  for (const list of [...lists, ...lists]) {
    for (let after = 0; ; ) {
      const ids = (await redis.zrangebyscore(list, `(${after}`, '+inf', 'LIMIT', 0, FILES_AT_ONCE)).map(Number)
      const hashes = await Promise.all(ids.map((id) => redis.hget(keys.file(id), 'hash')))
      for (const hash of hashes) if (hash !== null) yield hash
      if (ids.length < FILES_AT_ONCE) break
      after = ids.at(-1) ?? after
    }
  }
}

/** Call before content is put into place: keeps it from being removed, and waits for a removal under way. */
export async function claimContent(redis: Redis, hash: string): Promise<void> {
  for (const giveUpAt = performance.now() + REMOVING_MS; performance.now() < giveUpAt; await sleep(ASK_AGAIN_MS)) {
    const [, removing] = await Promise.all([
      redis.zrem(rootKeys.contentWithoutFile, hash),
      redis.exists(contentRemovalKey(hash)),
    ])
    if (removing === 0) return
  }
}
