// Forgetting the gallery of an account. Content is shared between accounts: it goes an hour later, when no file has it
// (purge-trash.ts).
import type { Redis } from '../../redis/connect.ts'
import { fileTokenKey, galleryKeys } from '../../redis/keys.ts'
import { removeLooseTokens } from './new-tokens.ts'
import { noteWithoutFile } from './purge-trash.ts'

/** Files of one place that are read in one go. */
const FILES_AT_ONCE = 500

/** Forgets all folders and files of the account. Whoever dies in between is followed by another who forgets the rest. */
export async function forgetGallery(redis: Redis, account: number): Promise<void> {
  const keys = galleryKeys(account)
  const folders = (await redis.zrange(keys.folders, '0', '-1')).map(Number)
  for (const place of [...folders.map(keys.filesIn), keys.trash]) {
    for (;;) {
      const ids = await redis.zrange(place, 0, String(FILES_AT_ONCE - 1))
      if (ids.length === 0) break
      for (const id of ids) await forgetFile(redis, keys.file(Number(id)))
      await redis.zrem(place, ...ids)
    }
  }
  await removeLooseTokens(redis, account, '+inf')
  await redis.del(keys.folders, keys.trash, keys.bytes, ...folders.map(keys.folder))
}

async function forgetFile(redis: Redis, key: string): Promise<void> {
  const [hash, token] = await redis.hmget(key, 'hash', 'token')
  if (hash) await noteWithoutFile(redis, hash)
  if (token) await redis.del(fileTokenKey(token))
  await redis.del(key)
}
