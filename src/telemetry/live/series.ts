// The history as a chart wants it: one point for each period of a span, with zeros where nothing was counted. An hour of
// 200 lanes is 72,000 periods, and a page asks every few seconds: what was read is kept, and only what may have changed
// since is read again.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Redis } from '../../redis/connect.ts'
import { COARSE, FINE, type Point, WHOLE } from '../history.ts'
import type { Series, Span } from '../snapshot.ts'
import { readStats } from '../store/history.ts'

/** Lanes that are read at once: a week of one is 8 keys of 13 KB. */
const LANES_AT_ONCE = 10
/** One answer is good for so long: the periods are of 10 s and of 5 min. */
const GOOD_FOR_MS: Readonly<Record<Span, number>> = { hour: 3_000, week: 60_000 }
const ANSWERS_MAX = 200
/** Charts that are kept, and for how long after somebody last asked. */
const KEPT_MAX = 50
const KEPT_MS = 60_000
/** A process writes what it counted every 3 s; one that could not write for longer than this is seen by a whole read. */
const LATE_MS = 30_000
const WHOLE_EVERY_MS = 5 * 60_000

/** What was read of a chart. */
interface Kept {
  lanes: string
  points: Map<number, Point>
  wholeAtMs: number
  readAtMs: number
}

/** Reads series for the pages of this process; what many ask at the same time, or within `goodForMs`, is read once. */
export function createSeriesReader(redis: Redis, goodForMs?: number) {
  const answers = new LRUCache<string, Promise<Series>>({
    max: ANSWERS_MAX,
    perf: performance,
    ttl: 1,
    ttlResolution: 0,
  })
  const charts = new LRUCache<string, Kept>({ max: KEPT_MAX, ttl: KEPT_MS, perf: performance })

  return (of: { name: string; lanes: () => Promise<readonly number[] | 'all'> }, span: Span): Promise<Series> => {
    const key = `${of.name} ${span}`
    const known = answers.get(key)
    if (known) return known
    const reading = of.lanes().then((lanes) => read(key, lanes === 'all' ? [WHOLE] : lanes, span))
    answers.set(key, reading, { ttl: goodForMs ?? GOOD_FOR_MS[span] })
    reading.catch(() => answers.delete(key))
    return reading
  }

  async function read(key: string, lanes: readonly number[], span: Span): Promise<Series> {
    const resolution = span === 'hour' ? FINE : COARSE
    const { everyMs, keptMs } = resolution
    const nowMs = Date.now()
    const before = charts.get(key)
    const isKnown = before?.lanes === lanes.join() && nowMs - before.wholeAtMs < WHOLE_EVERY_MS
    const known: Kept = isKnown ? before : { lanes: lanes.join(), points: new Map(), wholeAtMs: nowMs, readAtMs: 0 }
    const sinceMs = Math.max(nowMs - keptMs, known.readAtMs - LATE_MS)
    const sums = new Map<number, Point>()
    for (let from = 0; from < lanes.length; from += LANES_AT_ONCE) {
      const some = lanes.slice(from, from + LANES_AT_ONCE)
      const { points } = await readStats(redis, some, { sinceMs, nowMs, resolution })
      for (const point of points) sums.set(point.atMs, added(sums.get(point.atMs), point))
      await nextTurn()
    }
    for (const [atMs, point] of sums) known.points.set(atMs, point)
    for (const atMs of known.points.keys()) if (atMs < nowMs - keptMs - everyMs) known.points.delete(atMs)
    charts.set(key, { ...known, readAtMs: nowMs })
    const last = nowMs - (nowMs % everyMs)
    const points = Array.from({ length: keptMs / everyMs }, (_, i) => {
      const atMs = last - (keptMs / everyMs - 1 - i) * everyMs
      return pointAt(atMs, known.points.get(atMs))
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
