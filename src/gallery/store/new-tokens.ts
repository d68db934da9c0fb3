// Tokens of files that are being added. A token is there before its file, and on another node of a cluster, so whoever dies
// in between leaves one that leads nowhere; it stands on a list until its file is there.
import type { Redis } from '../../redis/connect.ts'
import { fileTokenKey, galleryKeys } from '../../redis/keys.ts'

/** Has the token lead to the file that is added next (`nowMs`: clock.ts); `keepToken` once it is there. */
export async function addToken(
  redis: Redis,
  account: number,
  { token, id, nowMs }: { token: string; id: number; nowMs: number },
): Promise<void> {
  await redis.zadd(galleryKeys(account).newTokens, nowMs, token)
  await redis.set(fileTokenKey(token), `${account} ${id}`)
}

/** Its file is there. Dying before this leaves the token on the list, which is looked through by `removeLooseTokens`. */
export async function keepToken(redis: Redis, account: number, token: string): Promise<void> {
  await redis.zrem(galleryKeys(account).newTokens, token)
}

/** Removes tokens of before `beforeMs` (epoch ms), or all, whose file was never added. */
export async function removeLooseTokens(redis: Redis, account: number, beforeMs: number | '+inf'): Promise<void> {
  const keys = galleryKeys(account)
  for (const token of await redis.zrangebyscore(keys.newTokens, '-inf', beforeMs)) {
    const id = Number((await redis.get(fileTokenKey(token)))?.split(' ')[1])
    if (Number.isNaN(id) || (await redis.exists(keys.file(id))) === 0) await redis.del(fileTokenKey(token))
    await keepToken(redis, account, token)
  }
}
