// Records which data keys have sealed data in Redis: a process that lacks one must not start, since it would read sealed
// texts as those of people, and write beside them in clear. Of a key only its id is kept.
//
// Processes that are restarted one by one with another first key write over each other; the last one has it right.
import { z } from 'zod'
import { VALIDITY_MAX_MS } from '../kernel/instant.ts'
import { DataKeyError, dataKeyIds } from '../kernel/sealed.ts'
import type { Redis } from './connect.ts'
import { rootKeys } from './keys.ts'
import { readRecord } from './records.ts'

/**
 * How long a key is needed after it was last the first (ms): a message may be put off, valid, and kept for the retention
 * from its claim on, and once queued again be valid and kept as long once more. What is queued again more often is read
 * only with its old key.
 */
const neededMs = (retentionMs: number): number => 3 * VALIDITY_MAX_MS + 2 * retentionMs

/** Key id → since when it seals nothing new (epoch ms); 0 for the one that seals. */
const usesSchema = z.record(z.string(), z.coerce.number())

/**
 * Notes that the first of the keys seals from now on. Throws a DataKeyError that names a key that is missing while what it
 * sealed may still be there, see `neededMs`.
 */
export async function noteDataKeys(
  redis: Redis,
  secrets: readonly string[],
  { retentionMs, nowMs }: { retentionMs: number; nowMs: number },
): Promise<void> {
  const ids = dataKeyIds(secrets)
  const [first] = ids
  const uses = readRecord(usesSchema, 'data keys', await redis.hgetall(rootKeys.dataKeys))
  for (const [id, endedAt] of Object.entries(uses)) {
    if (ids.includes(id)) continue
    if (endedAt !== 0 && endedAt + neededMs(retentionMs) < nowMs) {
      await redis.hdel(rootKeys.dataKeys, id)
      continue
    }
    const lacks = first === undefined ? 'is not set' : `lacks the key ${id}`
    throw new DataKeyError(
      `LANEWAY_DATA_KEY ${lacks}, but numbers and texts in Redis may still be sealed under the key ${id}. ` +
        'Add that key. If you are replacing it, put it after the new one.',
    )
  }
  if (first === undefined) return
  const retired = Object.entries(uses).filter(([id, endedAt]) => endedAt === 0 && id !== first && ids.includes(id))
  await redis.hset(rootKeys.dataKeys, { [first]: 0, ...Object.fromEntries(retired.map(([id]) => [id, nowMs])) })
}
