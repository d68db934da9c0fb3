// When keys were last used, so that a person can see which of them may be revoked. Beside the keys' own records: a use
// is written down late and may be lost, and must never bring back half of a record that is gone.
import type { Redis } from '../../redis/connect.ts'
import { keyUsesKey } from '../../redis/keys.ts'

/** A busy key is used a thousand times a second; that it was used within the minute is all that anybody asks. */
const WRITTEN_EVERY_MS = 60_000
/** Keys remembered per process; beyond it all are forgotten, which costs a write for each that is used. */
const MOST = 10_000

const writtenAt = new WeakMap<Redis, Map<string, number>>()

/**
 * Writes down that the key is used now, at most once a minute in this process. Never rejects and is never waited for.
 */
export function noteKeyUse(redis: Redis, { account, id }: { account: number; id: string }, nowMs: number): void {
  const written = writtenAt.get(redis) ?? new Map<string, number>()
  writtenAt.set(redis, written)
  if (nowMs - (written.get(id) ?? 0) < WRITTEN_EVERY_MS) return
  if (written.size >= MOST) written.clear()
  written.set(id, nowMs)
  // A Redis that is full or away refuses it; the next minute writes it again.
  redis.hset(keyUsesKey(account), id, nowMs).catch(() => {})
}

/** Key id → when it was last used (epoch ms), to the minute; a key that never was is missing. */
export async function readKeyUses(redis: Redis, account: number): Promise<ReadonlyMap<string, number>> {
  const uses = await redis.hgetall(keyUsesKey(account))
  return new Map(Object.entries(uses).map(([id, ms]) => [id, Number(ms)]))
}
