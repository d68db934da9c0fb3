// The history as a chart wants it: one point for each period of a span, with zeros where nothing was counted. An hour of
// 200 lanes is 72,000 periods, and a page asks every few seconds: what was read is kept, and only what may have changed
// since is read again.
import { LRUCache } from 'lru-cache'
import { iso } from '../../kernel/instant.ts'
import type { Redis } from '../../redis/connect.ts'
import { COARSE, FINE, type Fields, type Point, pointOf, WHOLE } from '../history.ts'
import type { Series, Span } from '../snapshot.ts'
import { readStats } from '../store/history.ts'

/** One answer is good for so long: the periods are of 10 s and of 5 min. */
const GOOD_FOR_MS: Readonly<Record<Span, number>> = { hour: 3_000, week: 60_000 }
const ANSWERS_MAX = 200
/** Charts in the cache, and how long after the last request they stay. */
const KEPT_MAX = 50
const KEPT_MS = 60_000
/** A process writes what it counted every 3 s; one that could not write for longer than this is caught by a whole read. */
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
    const { points: found } = await readStats(redis, lanes, { sinceMs, nowMs, resolution })
    for (const point of found) known.points.set(point.atMs, point)
    for (const atMs of known.points.keys()) if (atMs < nowMs - keptMs - everyMs) known.points.delete(atMs)
    charts.set(key, { ...known, readAtMs: nowMs })
    const last = nowMs - (nowMs % everyMs)
    const points = Array.from({ length: keptMs / everyMs }, (_, i) => {
      const atMs = last - (keptMs / everyMs - 1 - i) * everyMs
      return shown(known.points.get(atMs) ?? pointOf(atMs, NOTHING))
    })
    return { step_s: everyMs / 1_000, points }
  }
}

const NOTHING: Fields = new Map()

function shown({ atMs, backlog, oldestSeconds, ...counts }: Point): Series['points'][number] {
  const { accepted, sent, delivered, read, failed, unknown } = counts
  return { at: iso(atMs), accepted, sent, delivered, read, failed, unknown, waiting: backlog, oldest_s: oldestSeconds }
}
