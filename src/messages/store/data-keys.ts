// Which data keys have sealed what stands in Redis: a process that lacks one must not start, since it would read sealed
// texts as those of people, and write beside them in clear. Of a key only its id is kept.
//
// Processes that are restarted one by one with another first key write over each other; the last one has it right.
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { readRecord } from '../../redis/corrupt-record.ts'
import { rootKeys } from '../../redis/keys.ts'
import { DataKeyError, dataKeyIds } from '../sealed.ts'

/** Key id → since when it seals nothing new (epoch ms); 0 for the one that seals. */
const usesSchema = z.record(z.string(), z.coerce.number())

/**
 * Notes that the first of the keys seals from now on. Throws a DataKeyError that names a key that lacks although what it
 * sealed is still kept: until `keptMs` after it was last the first.
 */
export async function noteDataKeys(
  redis: Redis,
  secrets: readonly string[],
  { keptMs, nowMs }: { keptMs: number; nowMs: number },
): Promise<void> {
  const ids = dataKeyIds(secrets)
  const [first] = ids
  const uses = readRecord(usesSchema, 'data keys', await redis.hgetall(rootKeys.dataKeys))
  for (const [id, endedAt] of Object.entries(uses)) {
    if (ids.includes(id)) continue
    if (endedAt !== 0 && endedAt + keptMs < nowMs) {
      await redis.hdel(rootKeys.dataKeys, id)
      continue
    }
    const lacks = first === undefined ? 'is not set' : `lacks the key ${id}`
    throw new DataKeyError(
      `LANEWAY_DATA_KEY ${lacks}, but numbers and texts in Redis are sealed under the key ${id}. ` +
        'Set it; if it is to be replaced, after the new one.',
    )
  }
  if (first === undefined) return
  const retired = Object.entries(uses).filter(([id, endedAt]) => endedAt === 0 && id !== first && ids.includes(id))
  await redis.hset(rootKeys.dataKeys, { [first]: 0, ...Object.fromEntries(retired.map(([id]) => [id, nowMs])) })
}
