// Removes files for good that have been in the trash for long enough, and content that no file is left of.
//
// Content is shared: the same bytes may be files of other accounts. So a hash whose file was removed is remembered, and an
// hour later, when no upload of that time is still under way, all files are looked through for it. An upload of the same
// content in between takes the hash off again, and waits while the content is just being removed; see `claimContent`.
import { setTimeout as sleep } from 'node:timers/promises'
import type { FileStore } from '../../files/store.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { contentRemovalKey, fileTokenKey, galleryKeys, rootKeys } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { nowMicros } from './clock.ts'
import { contentPath } from './content.ts'
import { countBytes } from './kept-bytes.ts'

/** No upload takes so long from its last byte to its record. */
const SETTLED_MS = 3_600_000
/** Hashes that are looked for at a time, and files that are read at a time. */
const HASHES_AT_ONCE = 10_000
const FILES_AT_ONCE = 500
/** Removing content takes less than this; whoever was held up for longer leaves it. */
const REMOVING_MS = 60_000
const SURE_MS = 20_000

const removeScript = defineScript(import.meta.url, 'gallery-remove-file')

/** Removes the account's files that went into the trash more than `keepMs` ago; returns how many. */
export async function removeFromTrash(redis: Redis, account: number, keepMs: number): Promise<number> {
  const keys = galleryKeys(account)
  const before = (await nowMicros(redis, account)) - keepMs * 1_000
  let removed = 0
  for (let after = 0; ; ) {
    const ids = (await redis.zrangebyscore(keys.trash, `(${after}`, '+inf', 'LIMIT', 0, FILES_AT_ONCE)).map(Number)
    for (const id of ids) {
      const [deletedAt, hash, token] = await redis.hmget(keys.file(id), 'deleted_at', 'hash', 'token')
      if (!deletedAt || Number(deletedAt) >= before) continue
      if ((await redis.exists(keys.bytes)) === 0) await countBytes(redis, account)
      // First, so that a crash after the record is gone does not leave its content for ever.
      if (hash) await noteWithoutFile(redis, hash)
      const fields = { file: keys.file(id), trash: keys.trash, bytes: keys.bytes }
      if ((await removeScript(redis, fields, { id: String(id), before })) !== 1) continue
      if (token) await redis.del(fileTokenKey(token))
      removed += 1
    }
    if (ids.length < FILES_AT_ONCE) return removed
    after = ids.at(-1) ?? after
  }
}

/** A file with this content is being removed: in an hour it is looked whether others have it. */
export async function noteWithoutFile(redis: Redis, hash: string): Promise<void> {
  const key = rootKeys.contentWithoutFile
  await redis.zadd(key, await redisNowMs(redis, key), hash)
}

/** Removes content that no file of these accounts has any more, an hour after its last one was removed; returns how much. */
export async function removeContent(
  redis: Redis,
  files: FileStore,
  accounts: readonly number[],
  nowMs: number,
): Promise<number> {
  const settled = nowMs - SETTLED_MS
  const without = rootKeys.contentWithoutFile
  const hashes = new Set(await redis.zrangebyscore(without, '-inf', settled, 'LIMIT', 0, HASHES_AT_ONCE))
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
    // An upload that came before this has taken it off; one that comes after it sees the key and waits.
    if ((await redis.zrem(without, hash)) === 1 && performance.now() - began < SURE_MS) {
      await files.remove(contentPath(hash))
      removed += 1
    }
    await redis.del(contentRemovalKey(hash))
  }
  return removed
}

/** The content of all files of an account, those in the trash too. */
async function* hashesOf(redis: Redis, account: number): AsyncGenerator<string> {
  const keys = galleryKeys(account)
  const folders = await redis.zrange(keys.folders, '0', '-1')
  // A file that is moved meanwhile was seen, or will be: the trash comes last, then the folders once more.
  const places = [...folders.map((folder) => keys.filesIn(Number(folder))), keys.trash]
  for (const place of [...places, ...places]) {
    for (let after = 0; ; ) {
      const ids = (await redis.zrangebyscore(place, `(${after}`, '+inf', 'LIMIT', 0, FILES_AT_ONCE)).map(Number)
      const hashes = await Promise.all(ids.map((id) => redis.hget(keys.file(id), 'hash')))
      for (const hash of hashes) if (hash !== null) yield hash
      if (ids.length < FILES_AT_ONCE) break
      after = ids.at(-1) ?? after
    }
  }
}

const ASK_AGAIN_MS = 50

/** Before content is put into place: it is not removed from now on, and whoever is removing it just now is waited for. */
export async function claimContent(redis: Redis, hash: string): Promise<void> {
  for (const giveUpAt = performance.now() + REMOVING_MS; performance.now() < giveUpAt; await sleep(ASK_AGAIN_MS)) {
    const [, removing] = await Promise.all([
      redis.zrem(rootKeys.contentWithoutFile, hash),
      redis.exists(contentRemovalKey(hash)),
    ])
    if (removing === 0) return
  }
}
