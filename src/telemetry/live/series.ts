// The history as a chart wants it: one point for each period of a span, with zeros where nothing was counted.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Redis } from '../../redis/connect.ts'
import { WHOLE } from '../history-buffer.ts'
import { COARSE, FINE, type Point } from '../history-fields.ts'
import type { Series, Span } from '../series.ts'
import { readStats } from '../store/history.ts'

/** Lanes that are read at once: a week of one is 8 keys of 13 KB. */
const LANES_AT_ONCE = 10
/** One answer is good for so long: the periods are of 10 s and of 5 min. */
const GOOD_FOR_MS: Readonly<Record<Span, number>> = { hour: 3_000, week: 60_000 }
const ANSWERS_MAX = 200

/** Reads series for the pages of this process; what many ask at the same time is read once. */
export function createSeriesReader(redis: Redis) {
  const answers = new LRUCache<string, Promise<Series>>({
    max: ANSWERS_MAX,
    perf: performance,
    ttl: 1,
    ttlResolution: 0,
  })

  return (of: { name: string; lanes: readonly number[] | 'all' }, span: Span): Promise<Series> => {
    const key = `${of.name} ${span}`
    const known = answers.get(key)
    if (known) return known
    const reading = read(of.lanes === 'all' ? [WHOLE] : of.lanes, span)
    answers.set(key, reading, { ttl: GOOD_FOR_MS[span] })
    reading.catch(() => answers.delete(key))
    return reading
  }

  async function read(lanes: readonly number[], span: Span): Promise<Series> {
    const { everyMs, keptMs } = span === 'hour' ? FINE : COARSE
    const nowMs = Date.now()
    const sums = new Map<number, Point>()
    for (let from = 0; from < lanes.length; from += LANES_AT_ONCE) {
      const { points } = await readStats(redis, lanes.slice(from, from + LANES_AT_ONCE), {
        sinceMs: nowMs - keptMs,
        nowMs,
      })
      for (const point of points) sums.set(point.atMs, added(sums.get(point.atMs), point))
      await nextTurn()
    }
    const last = nowMs - (nowMs % everyMs)
    const points = Array.from({ length: keptMs / everyMs }, (_, i) => {
      const atMs = last - (keptMs / everyMs - 1 - i) * everyMs
      return pointAt(atMs, sums.get(atMs))
    })
    return { step_s: everyMs / 1_000, points }
  }
}

/** Two stretches of the same period as one. */
function added(one: Point | undefined, other: Point): Point {
  if (one === undefined) return other
  return {
    ...other,
    accepted: one.accepted + other.accepted,
    sent: one.sent + other.sent,
    delivered: one.delivered + other.delivered,
    read: one.read + other.read,
    failed: one.failed + other.failed,
    unknown: one.unknown + other.unknown,
    backlog: one.backlog + other.backlog,
    oldestSeconds: Math.max(one.oldestSeconds, other.oldestSeconds),
  }
}

const pointAt = (atMs: number, point: Point | undefined): Series['points'][number] => ({
  at: new Date(atMs).toISOString(),
  accepted: point?.accepted ?? 0,
  sent: point?.sent ?? 0,
  delivered: point?.delivered ?? 0,
  read: point?.read ?? 0,
  failed: point?.failed ?? 0,
  unknown: point?.unknown ?? 0,
  waiting: point?.backlog ?? 0,
  oldest_s: point?.oldestSeconds ?? 0,
})
