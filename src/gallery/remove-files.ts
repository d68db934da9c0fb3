// Removes files for good: those that have been in the trash for long enough, and the whole gallery of a removed account.
// Their content goes an hour later (content.ts).
import type { Redis } from '../redis/connect.ts'
import { fileTokenKey, galleryKeys } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { noteWithoutFile } from './content.ts'
import { removeLooseTokens } from './files.ts'
import { nowMicros } from './folders.ts'

const FILES_AT_ONCE = 500

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
      if (await removeRecord(redis, account, id, { hash, token, before })) removed += 1
    }
    if (ids.length < FILES_AT_ONCE) return removed
    after = ids.at(-1) ?? after
  }
}

/** Removes a file for good, wherever it is; false when there is none. */
export async function removeFile(redis: Redis, account: number, id: number): Promise<boolean> {
  const [hash = null, token = null] = await redis.hmget(galleryKeys(account).file(id), 'hash', 'token')
  return removeRecord(redis, account, id, { hash, token })
}

async function removeRecord(
  redis: Redis,
  account: number,
  id: number,
  { hash, token, before }: { hash: string | null | undefined; token: string | null | undefined; before?: number },
): Promise<boolean> {
  const { file, trash, bytes, received, prefix } = galleryKeys(account)
  // First, so that a crash once the record is gone does not leave its content for ever.
  if (hash) await noteWithoutFile(redis, hash)
  const found = await removeScript(
    redis,
    { file: file(id), trash, bytes, received, prefix },
    { id: String(id), before },
  )
  if (found !== 1) return false
  if (token) await redis.del(fileTokenKey(token))
  return true
}

/** Removes all folders and files of the account. After a crash, calling it again removes the rest. */
export async function forgetGallery(redis: Redis, account: number): Promise<void> {
  const keys = galleryKeys(account)
  const folders = (await redis.zrange(keys.folders, '0', '-1')).map(Number)
  for (const list of [...folders.map(keys.filesIn), keys.trash]) {
    for (;;) {
      const ids = await redis.zrange(list, 0, String(FILES_AT_ONCE - 1))
      if (ids.length === 0) break
      for (const id of ids) await forgetFile(redis, keys.file(Number(id)))
      await redis.zrem(list, ...ids)
    }
  }
  await removeLooseTokens(redis, account, '+inf')
  await redis.del(keys.folders, keys.trash, keys.bytes, keys.receivedFolder, keys.received, ...folders.map(keys.folder))
}

async function forgetFile(redis: Redis, key: string): Promise<void> {
  const [hash, token] = await redis.hmget(key, 'hash', 'token')
  if (hash) await noteWithoutFile(redis, hash)
  if (token) await redis.del(fileTokenKey(token))
  await redis.del(key)
}
