// How fast things happen on a lane, from counts that rise: what was counted since the last look, over the last 10 s. Every
// process writes its counts each 3 s, so these ten seconds hold three writes of each. Without an earlier look, as in a
// program that looks once, the latest whole period of the history tells it.
import { type Counted, FINE, parseFields } from '../history-fields.ts'

/** What a rate is told of. */
const RATED = ['accepted', 'sent', 'delivered', 'failed'] as const satisfies readonly Counted[]
export type Rates = Record<(typeof RATED)[number], number>
const LETTERS = ['a', 's', 'd', 'f'] as const

/** Counts in the order of RATED. */
type Four = [number, number, number, number]
const FAILED = 3
const WINDOW_MS = 10_000
/** A period is whole once every process has written it. */
const WRITTEN_AFTER_MS = 5_000

export type RateMeter = ReturnType<typeof createRateMeter>

/** The meter of one lane, or of the whole installation. `spark` is how many periods are remembered. */
export function createRateMeter(spark: number) {
  /** Beginning of a period → what was counted in it when last looked. */
  const periods = new Map<number, Four>()
  /** The same as it was stored: what has not changed, as most, need not be read again. */
  const texts = new Map<number, string>()
  /** `fromMs`: when the look before it was, since which its counts rose. */
  let looks: { fromMs: number; atMs: number; risen: Four }[] = []
  let newestAtMs = Number.NEGATIVE_INFINITY
  /** The last spark, for as long as nothing it shows has changed: most of the time. */
  let drawn: { current: number; points: number[] } | undefined
  let lastLookAtMs = 0
  let firstLookAtMs: number | undefined
  let failedRoseAtMs = Number.NEGATIVE_INFINITY

  return {
    /** When a look last found more failures than the one before (epoch ms). */
    failedRoseAtMs: (): number => failedRoseAtMs,

    /** How many periods before the current one it must be told of: all at first, then the few that may still rise. */
    placesBack: (nowMs: number): number =>
      periods.size === 0 ? spark : Math.min(spark, Math.max(2, Math.ceil((nowMs - newestAtMs) / FINE.everyMs) + 2)),

    /** Takes a look: `counts` by the beginning of their periods, as they are stored. */
    look(nowMs: number, counts: readonly { atMs: number; counts: string }[]): void {
      const risen: Four = [0, 0, 0, 0]
      for (const { atMs, counts: stored } of counts) {
        if (texts.get(atMs) === stored) continue
        texts.set(atMs, stored)
        newestAtMs = Math.max(newestAtMs, atMs)
        drawn = undefined
        const before = periods.get(atMs)
        const now = stored === '' ? ZERO : fourOf(stored)
        periods.set(atMs, now)
        for (let i = 0; i < 4; i += 1) risen[i] = (risen[i] ?? 0) + Math.max(0, (now[i] ?? 0) - (before?.[i] ?? 0))
      }
      for (const atMs of periods.keys()) {
        if (atMs >= nowMs - (spark + 1) * FINE.everyMs) continue
        periods.delete(atMs)
        texts.delete(atMs)
      }
      if (risen[FAILED] > 0) failedRoseAtMs = nowMs
      // What stood there at the first look rose before it.
      if (firstLookAtMs === undefined) firstLookAtMs = nowMs
      else looks.push({ fromMs: lastLookAtMs, atMs: nowMs, risen })
      lastLookAtMs = nowMs
      looks = looks.filter(({ atMs }) => atMs > nowMs - WINDOW_MS)
    },

    /** Per second. */
    rates(nowMs: number): Rates {
      const isWatched = firstLookAtMs !== undefined && nowMs - firstLookAtMs >= WINDOW_MS
      const of = (i: number): number => {
        if (isWatched) {
          const risen = looks.reduce((sum, look) => sum + (look.risen[i] ?? 0), 0)
          // While nobody looked, counts rose as well: they are of all that time, not of these ten seconds.
          const coveredMs = Math.max(WINDOW_MS, nowMs - (looks[0]?.fromMs ?? nowMs))
          return (risen * 1_000) / coveredMs
        }
        const whole = nowMs - WRITTEN_AFTER_MS - ((nowMs - WRITTEN_AFTER_MS) % FINE.everyMs) - FINE.everyMs
        return (periods.get(whole)?.[i] ?? 0) / (FINE.everyMs / 1_000)
      }
      return { accepted: of(0), sent: of(1), delivered: of(2), failed: of(3) }
    },

    /** Sent per second in each of the periods before the current one, the oldest first; the same list while none changes. */
    spark(nowMs: number): readonly number[] {
      const current = nowMs - (nowMs % FINE.everyMs)
      if (drawn?.current === current) return drawn.points
      const points = Array.from({ length: spark }, (_, i) => {
        const atMs = current - (spark - i) * FINE.everyMs
        return (periods.get(atMs)?.[1] ?? 0) / (FINE.everyMs / 1_000)
      })
      drawn = { current, points }
      return points
    },
  }
}

const ZERO: Four = [0, 0, 0, 0]

function fourOf(stored: string): Four {
  const fields = parseFields(stored)
  const [a, s, d, f] = LETTERS.map((letter) => fields.get(letter) ?? 0)
  return [a ?? 0, s ?? 0, d ?? 0, f ?? 0]
}
