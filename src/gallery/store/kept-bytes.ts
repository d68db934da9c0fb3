// How many bytes the files of a gallery have in all, those in the trash too. The count is changed in the step that adds a
// file or removes one, so it is always right; where there is none yet, as in a gallery of an older version, the files are
// added up once. While there is none nothing can be added or removed, so nothing is missed.
import type { Redis } from '../../redis/connect.ts'
import { galleryKeys } from '../../redis/keys.ts'

const AT_ONCE = 500

/** Adds up the files of a gallery that has no count; whoever does so at the same time finds the same. */
export async function countBytes(redis: Redis, account: number): Promise<void> {
  const keys = galleryKeys(account)
  const folders = await redis.zrange(keys.folders, '0', '-1')
  let bytes = 0
  for (const files of [...folders.map((folder) => keys.filesIn(Number(folder))), keys.trash]) {
    for (let from = 0; ; from += AT_ONCE) {
      const ids = await redis.zrange(files, String(from), String(from + AT_ONCE - 1))
      const sizes = await Promise.all(ids.map((id) => redis.hget(keys.file(Number(id)), 'size')))
      for (const size of sizes) bytes += Number(size ?? 0)
      if (ids.length < AT_ONCE) break
    }
  }
  await redis.set(keys.bytes, String(bytes), 'NX')
}

/** Bytes of all files of the account. */
export async function keptBytes(redis: Redis, account: number): Promise<number> {
  const { bytes } = galleryKeys(account)
  const known = await redis.get(bytes)
  if (known !== null) return Number(known)
  await countBytes(redis, account)
  return Number((await redis.get(bytes)) ?? 0)
}
