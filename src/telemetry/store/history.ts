// The history in Redis: written in batches, one script per lane that had something to count, and read whole. Each key
// holds the periods of an hour, or of a day, and goes as a whole when the last of them is old enough; a lane without
// traffic has none. One with traffic in every period takes 130 KB in all: 45 bytes a period, 2 hours and 8 days of them.
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { historyKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { type Batch, type HistoryBuffer, WHOLE } from '../history-buffer.ts'
import {
  addLane,
  COARSE,
  FINE,
  type Fields,
  type Point,
  parseFields,
  pointOf,
  type Resolution,
} from '../history-fields.ts'

const addScript = defineScript(import.meta.url, 'history-add')
/** Lanes that are written in one round trip. */
const LANES_AT_ONCE = 500

/**
 * Writes what the buffer holds; resolves to how many periods were lost because Redis was away for too long. Rejects when
 * Redis does not take all of it: what is left is written the next time, and nothing is counted twice.
 */
export async function writeHistory(redis: Redis, buffer: HistoryBuffer): Promise<number> {
  const batches = buffer.take()
  try {
    // One after the other: of each lane an earlier batch must be written before a later one.
    for (let batch = batches[0]; batch !== undefined; batch = batches[0]) {
      await writeBatch(redis, buffer.writer, batch)
      batches.shift()
    }
  } catch (error) {
    buffer.putBack(batches)
    throw error
  }
  return buffer.takeDropped()
}

/** Takes each lane off the batch once it is written. */
async function writeBatch(redis: Redis, writer: string, { number, atMs, lanes }: Batch): Promise<void> {
  const failures: unknown[] = []
  const all = [...lanes]
  for (let from = 0; from < all.length && failures.length === 0; from += LANES_AT_ONCE) {
    await Promise.all(
      all.slice(from, from + LANES_AT_ONCE).map(async ([lane, fields]) => {
        try {
          await addScript(
            redis,
            { fine: chunkKey(lane, FINE, atMs), coarse: chunkKey(lane, COARSE, atMs) },
            {
              ...{ writer, number, finePlace: placeOf(FINE, atMs), coarsePlace: placeOf(COARSE, atMs) },
              ...{ fineUntil: endOf(FINE, atMs), coarseUntil: endOf(COARSE, atMs), counts: [...fields] },
            },
          )
          lanes.delete(lane)
        } catch (error) {
          failures.push(error)
        }
      }),
    )
  }
  if (failures.length > 0) throw failures[0]
}

const chunkKey = (lane: number, { name, chunkMs }: Resolution, atMs: number): string =>
  historyKey(lane === WHOLE ? undefined : lane, name, Math.floor(atMs / chunkMs))
const placeOf = ({ everyMs, chunkMs }: Resolution, atMs: number): string =>
  String(Math.floor((atMs % chunkMs) / everyMs))
const endOf = ({ chunkMs, keptMs }: Resolution, atMs: number): number =>
  (Math.floor(atMs / chunkMs) + 1) * chunkMs + keptMs

/** A stretch of history. */
export interface History {
  everyMs: number
  /** Beginning of the first and of the last period (epoch ms). */
  fromMs: number
  toMs: number
  /** Periods in which something was counted, the oldest first. */
  points: Point[]
}

const chunkReply = z.record(z.string(), z.string())

/** So few periods of a key are asked for one by one. */
const FEW_PLACES = 60

/**
 * What was counted on a lane, or on the WHOLE, since a time: per 10 s when that is within the last hour, else per 5 min
 * (`resolution` says otherwise), for a week at most. Of several lanes, their sum.
 */
export async function readStats(
  redis: Redis,
  lanes: readonly number[],
  { sinceMs, nowMs, resolution }: { sinceMs: number; nowMs: number; resolution?: Resolution },
): Promise<History> {
  const of = resolution ?? (nowMs - sinceMs <= FINE.keptMs ? FINE : COARSE)
  const { everyMs, chunkMs, keptMs } = of
  const fromMs = Math.floor(Math.max(sinceMs, nowMs - keptMs) / everyMs) * everyMs
  const chunks: number[] = []
  for (let chunk = Math.floor(fromMs / chunkMs); chunk * chunkMs <= nowMs; chunk += 1) chunks.push(chunk)
  const placesIn = (chunk: number): string[] => {
    const [first, last] = [Math.max(fromMs, chunk * chunkMs), Math.min(nowMs, (chunk + 1) * chunkMs - 1)]
    const count = Math.floor((last - first) / everyMs) + 1
    return Array.from({ length: count }, (_, i) => placeOf(of, first + i * everyMs))
  }
  const periods = new Map<number, Fields>()
  await Promise.all(
    lanes.flatMap((lane) =>
      chunks.map(async (chunk) => {
        for (const [place, counts] of await readChunk(redis, chunkKey(lane, of, chunk * chunkMs), placesIn(chunk))) {
          const atMs = chunk * chunkMs + Number(place) * everyMs
          // Not a number: which batch of which process was the latest.
          if (!(atMs >= fromMs && atMs <= nowMs)) continue
          const fields = periods.get(atMs) ?? new Map()
          periods.set(atMs, fields)
          addLane(fields, parseFields(counts))
        }
      }),
    ),
  )
  const points = [...periods].sort(([a], [b]) => a - b).map(([atMs, fields]) => pointOf(atMs, fields))
  return { everyMs, fromMs, toMs: Math.floor(nowMs / everyMs) * everyMs, points }
}

/** What is stored of these places, which are some or all of those of the key. */
async function readChunk(redis: Redis, key: string, places: readonly string[]): Promise<[string, string][]> {
  if (places.length > FEW_PLACES) return Object.entries(chunkReply.parse(await redis.hgetall(key)))
  const values = await redis.hmget(key, ...places)
  return places.flatMap((place, i): [string, string][] => {
    const counts = values[i]
    return typeof counts === 'string' ? [[place, counts]] : []
  })
}
