// How fast things happen on a lane, from counts that rise: what was counted since the last sample, over the last 10 s. Every
// process writes its counts each 3 s, so these ten seconds hold three writes of each. Without an earlier sample, as in a
// program that takes one, the last complete period of the history is used.
import { COUNTED, type Counted, FINE, parseFields } from '../history.ts'

/** The figures that have a rate. */
const RATED = ['accepted', 'sent', 'delivered', 'failed'] as const satisfies readonly Counted[]
export type Rates = Record<(typeof RATED)[number], number>
const NONE: Readonly<Rates> = { accepted: 0, sent: 0, delivered: 0, failed: 0 }

const WINDOW_MS = 10_000
/** A period is whole once every process has written it. */
const WRITTEN_AFTER_MS = 5_000

const periodOf = (ms: number): number => ms - (ms % FINE.everyMs)
/** Per second, of what was counted in a period. */
const perSecond = (count: number): number => count / (FINE.everyMs / 1_000)

export type RateMeter = ReturnType<typeof createRateMeter>

/** The meter of one lane, or of the whole installation. `spark` is how many periods are remembered. */
export function createRateMeter(spark: number) {
  /** Beginning of a period → what was counted in it at the last sample. The text: most have not changed since. */
  const periods = new Map<number, { stored: string; counts: Rates }>()
  /** `fromMs`: when the sample before it was taken, since which its counts rose. */
  let samples: { fromMs: number; atMs: number; risen: Rates }[] = []
  /** The last spark, for as long as nothing it shows has changed: most of the time. */
  let drawn: { current: number; points: number[] } | undefined
  let lastSampleAtMs = 0
  let firstSampleAtMs: number | undefined
  let failedRoseAtMs = Number.NEGATIVE_INFINITY

  return {
    /** When a sample last had more failures than the one before (epoch ms). */
    failedRoseAtMs: (): number => failedRoseAtMs,

    /** From when on it needs what was counted: all periods at first, then the few that may still rise. */
    sinceMs(nowMs: number): number {
      const back = Math.max(2, Math.ceil((nowMs - lastSampleAtMs) / FINE.everyMs) + 2)
      return periodOf(nowMs) - (firstSampleAtMs === undefined ? spark : Math.min(spark, back)) * FINE.everyMs
    },

    /** Adds a sample: the stored periods, by their start. */
    add(nowMs: number, found: readonly (readonly [atMs: number, stored: string])[]): void {
      const risen = { ...NONE }
      for (const [atMs, stored] of found) {
        const before = periods.get(atMs)
        if (before?.stored === stored) continue
        const fields = parseFields(stored)
        const counts = { ...NONE }
        for (const name of RATED) {
          counts[name] = fields.get(COUNTED[name]) ?? 0
          risen[name] += Math.max(0, counts[name] - (before?.counts[name] ?? 0))
        }
        periods.set(atMs, { stored, counts })
        drawn = undefined
      }
      for (const atMs of periods.keys()) if (atMs < nowMs - (spark + 1) * FINE.everyMs) periods.delete(atMs)
      if (risen.failed > 0) failedRoseAtMs = nowMs
      // Counts present at the first read are not attributed to the window.
      if (firstSampleAtMs === undefined) firstSampleAtMs = nowMs
      else samples.push({ fromMs: lastSampleAtMs, atMs: nowMs, risen })
      lastSampleAtMs = nowMs
      samples = samples.filter(({ atMs }) => atMs > nowMs - WINDOW_MS)
    },

    /** Per second. */
    rates(nowMs: number): Rates {
      const rates = { ...NONE }
      const isWatched = firstSampleAtMs !== undefined && nowMs - firstSampleAtMs >= WINDOW_MS
      const whole = periods.get(periodOf(nowMs - WRITTEN_AFTER_MS) - FINE.everyMs)
      // Counts also rose while nobody was watching: they belong to all that time, not to these ten seconds.
      const coveredMs = Math.max(WINDOW_MS, nowMs - (samples[0]?.fromMs ?? nowMs))
      for (const name of RATED) {
        const risen = samples.reduce((sum, sample) => sum + sample.risen[name], 0)
        rates[name] = isWatched ? (risen * 1_000) / coveredMs : perSecond(whole?.counts[name] ?? 0)
      }
      return rates
    },

    /** Sent per second in each of the periods before the current one, the oldest first; the same list while none changes. */
    spark(nowMs: number): number[] {
      const current = periodOf(nowMs)
      if (drawn?.current === current) return drawn.points
      const points = Array.from({ length: spark }, (_, i) => {
        const period = periods.get(current - (spark - i) * FINE.everyMs)
        return rounded(perSecond(period?.counts.sent ?? 0))
      })
      drawn = { current, points }
      return points
    },
  }
}

/** To hundredths. */
export const rounded = (rate: number): number => Math.round(rate * 100) / 100
