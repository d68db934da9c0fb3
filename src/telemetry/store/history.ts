// The history in Redis: written in batches, one script per lane that had something to count, and read whole. Each key
// holds the periods of an hour, or of a day, and goes as a whole when the last of them is old enough; a lane without
// traffic has none. One with traffic in every period takes 130 KB in all: 45 bytes a period, 2 hours and 8 days of them.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { historyKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import {
  addLane,
  type Batch,
  COARSE,
  FAILURES,
  FINE,
  type Fields,
  type HistoryBuffer,
  MEASURED,
  type Point,
  parseFields,
  pointOf,
  type Resolution,
  WHOLE,
} from '../history.ts'

/** What a field begins with that has the latest batch of a process; the others are places of periods. */
const PREFIX = { batch: 'w' } as const

const addScript = defineScript(import.meta.url, 'history-add', { names: { FAILURES, MEASURED, PREFIX } })
/** Lanes that are written in one round trip. */
const LANES_AT_ONCE = 500

/**
 * Writes what the buffer holds; resolves to how many periods were lost because Redis was away for too long. Rejects when
 * Redis does not take all of it: what is left is written the next time, and nothing is counted twice. One write of a
 * buffer at a time: of each lane an earlier batch must be written before a later one.
 */
export async function writeHistory(redis: Redis, buffer: HistoryBuffer): Promise<number> {
  for (let batch = buffer.next(); batch !== undefined; batch = buffer.next()) {
    await writeBatch(redis, buffer.writer, batch)
    buffer.written(batch)
  }
  return buffer.takeDropped()
}

/** Takes each lane off the batch once it is written. */
async function writeBatch(redis: Redis, writer: string, { number, atMs, lanes }: Batch): Promise<void> {
  const all = [...lanes]
  for (let from = 0; from < all.length; from += LANES_AT_ONCE) {
    const written = await Promise.allSettled(
      all.slice(from, from + LANES_AT_ONCE).map(async ([lane, fields]) => {
        await addScript(
          redis,
          { fine: chunkKey(lane, FINE, atMs), coarse: chunkKey(lane, COARSE, atMs) },
          {
            ...{ writer, number, finePeriod: periodOf(FINE, atMs), coarsePeriod: periodOf(COARSE, atMs) },
            ...{ fineUntil: endOf(FINE, atMs), coarseUntil: endOf(COARSE, atMs), counts: [...fields] },
          },
        )
        lanes.delete(lane)
      }),
    )
    for (const each of written) if (each.status === 'rejected') throw each.reason
  }
}

const chunkKey = (lane: number, { name, chunkMs }: Resolution, atMs: number): string =>
  historyKey(lane === WHOLE ? undefined : lane, name, Math.floor(atMs / chunkMs))
const periodOf = ({ everyMs, chunkMs }: Resolution, atMs: number): string =>
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

/** Lanes that are read at once: a week of one is 8 keys of 13 KB. */
const LANES_READ_AT_ONCE = 10

/**
 * What was counted on a lane, or on the WHOLE, since a time: per 10 s when that is within the last hour, else per 5 min
 * (unless `resolution` asks for another), for a week at most. Of several lanes, their sum.
 */
export async function readStats(
  redis: Redis,
  lanes: readonly number[],
  { sinceMs, nowMs, resolution }: { sinceMs: number; nowMs: number; resolution?: Resolution },
): Promise<History> {
  const of = resolution ?? (nowMs - sinceMs <= FINE.keptMs ? FINE : COARSE)
  const fromMs = Math.floor(Math.max(sinceMs, nowMs - of.keptMs) / of.everyMs) * of.everyMs
  const periods = new Map<number, Fields>()
  const add = async (lane: number): Promise<void> => {
    for (const [atMs, counts] of await readPeriods(redis, lane, { of, fromMs, nowMs })) {
      const fields = periods.get(atMs) ?? new Map<string, number>()
      periods.set(atMs, fields)
      addLane(fields, parseFields(counts))
    }
  }
  for (let first = 0; first < lanes.length; first += LANES_READ_AT_ONCE) {
    await Promise.all(lanes.slice(first, first + LANES_READ_AT_ONCE).map(add))
    // Reading the text of many lanes takes long: others get their turn in between.
    await nextTurn()
  }
  const points = [...periods].sort(([a], [b]) => a - b).map(([atMs, fields]) => pointOf(atMs, fields))
  return { everyMs: of.everyMs, fromMs, toMs: Math.floor(nowMs / of.everyMs) * of.everyMs, points }
}

const chunkReply = z.record(z.string(), z.string())

/** So few periods of a key are read one by one. */
const FEW_PLACES = 60

/** The periods of a lane, or of the WHOLE, in which something was counted: when each begins, and its stored text. */
export async function readPeriods(
  redis: Redis,
  lane: number,
  { of, fromMs, nowMs }: { of: Resolution; fromMs: number; nowMs: number },
): Promise<[atMs: number, stored: string][]> {
  const { everyMs, chunkMs } = of
  const chunks: number[] = []
  for (let chunk = Math.floor(fromMs / chunkMs); chunk * chunkMs <= nowMs; chunk += 1) chunks.push(chunk)
  const found = await Promise.all(
    chunks.map(async (chunk): Promise<[number, string][]> => {
      const key = chunkKey(lane, of, chunk * chunkMs)
      const [first, last] = [Math.max(fromMs, chunk * chunkMs), Math.min(nowMs, (chunk + 1) * chunkMs - 1)]
      const count = Math.floor((last - first) / everyMs) + 1
      if (count <= FEW_PLACES) {
        const times = Array.from({ length: count }, (_, i) => first + i * everyMs)
        const values = await redis.hmget(key, ...times.map((atMs) => periodOf(of, atMs)))
        return times.flatMap((atMs, i): [number, string][] => {
          const stored = values[i]
          return typeof stored === 'string' ? [[atMs, stored]] : []
        })
      }
      const all = Object.entries(chunkReply.parse(await redis.hgetall(key)))
      return (
        all
          .map(([period, stored]): [number, string] => [chunk * chunkMs + Number(period) * everyMs, stored])
          // A field whose name is no number holds the latest batch of a process.
          .filter(([atMs]) => atMs >= fromMs && atMs <= nowMs)
      )
    }),
  )
  return found.flat()
}
