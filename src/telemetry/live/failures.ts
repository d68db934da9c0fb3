// Failures of the last hour by code, from the history per 5 min: thirteen of its periods, the current one included.
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { historyKey } from '../../redis/keys.ts'
import { meaningOf } from '../code-meanings.ts'
import { COARSE, parseFields } from '../history-fields.ts'
import type { Snapshot } from '../snapshot.ts'

const HOUR_MS = 3_600_000
const values = z.array(z.string().nullable())

/** Of these lanes together, or of the whole installation; the most frequent first. */
export async function readFailures(
  redis: Redis,
  lanes: readonly number[] | 'all',
  nowMs: number,
): Promise<Snapshot['failures']> {
  const { everyMs, chunkMs } = COARSE
  const last = nowMs - (nowMs % everyMs)
  const byChunk = new Map<number, string[]>()
  for (let atMs = last - HOUR_MS; atMs <= last; atMs += everyMs) {
    const chunk = Math.floor(atMs / chunkMs)
    byChunk.set(chunk, [...(byChunk.get(chunk) ?? []), String(Math.floor((atMs % chunkMs) / everyMs))])
  }
  const byCode = new Map<string, number>()
  const of = lanes === 'all' ? [undefined] : lanes
  await Promise.all(
    of.flatMap((lane) =>
      [...byChunk].map(async ([chunk, places]) => {
        const stored = values.parse(await redis.hmget(historyKey(lane, COARSE.name, chunk), ...places))
        for (const counts of stored) {
          // Most periods have no failure, and this is read for hundreds of lanes.
          if (counts === null || !counts.includes('f.')) continue
          for (const [field, count] of parseFields(counts)) {
            if (field.startsWith('f.')) byCode.set(field.slice(2), (byCode.get(field.slice(2)) ?? 0) + count)
          }
        }
      }),
    ),
  )
  return [...byCode]
    .sort(([a, one], [b, other]) => other - one || a.localeCompare(b))
    .map(([code, count]) => ({ code, meaning: meaningOf(code), count }))
}
