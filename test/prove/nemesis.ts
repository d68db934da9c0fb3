// A nemesis: disturbs the system again and again while messages flow, and counts what it did.
import type { Part } from './part.ts'
import type { Random } from './random.ts'
import { pause } from './wait.ts'

/**
 * Kills of a small run, as many as an idle machine has time for. Starts cost more than anything else there: on a busy
 * machine a run without this bound takes longer, meets more kills for that, and so takes longer still.
 */
const MOST_KILLS_OF_SMALL_RUN = 6

/** How often a run of this size kills one of its parts at most. */
export const mostKills = (full: boolean): number => (full ? Number.POSITIVE_INFINITY : MOST_KILLS_OF_SMALL_RUN)

export interface Nemesis {
  /** How often it struck. */
  strikes(): number
  /** No more strikes; resolves when the one under way is over, rejects when one has failed. */
  stop(): Promise<void>
}

/** Calls `strike` every `ms`, the first time after `ms`. Strikes never overlap: a slow one delays the next. */
export function strikeEvery(ms: number, strike: (turn: number) => Promise<void>): Nemesis {
  let strikes = 0
  let stopped = false
  let failure: unknown
  const striking = (async () => {
    let due = performance.now() + ms
    while (!stopped) {
      const early = due - performance.now()
      if (early > 0) {
        await pause(Math.min(early, 50))
        continue
      }
      due = Math.max(due + ms, performance.now())
      await strike(strikes)
      strikes += 1
    }
  })().catch((error: unknown) => {
    failure = error
  })
  return {
    strikes: () => strikes,
    async stop() {
      stopped = true
      await striking
      if (failure !== undefined) throw failure
    },
  }
}

/**
 * Kills one of the processes every `ms` and starts it again, without waiting for that, `most` times at most. At least one
 * is always left: a strike that comes while too many are still starting is passed over.
 */
export function killEvery(
  ms: number,
  parts: readonly Part[],
  random: Random,
  most = Number.POSITIVE_INFINITY,
): Nemesis {
  const starting = new Set<Promise<void>>()
  let kills = 0
  const striking = strikeEvery(ms, async () => {
    const ready = parts.filter((part) => part.isReady())
    if (kills >= most || ready.length < 2) return
    const victim = random.pick(ready)
    await victim.kill9()
    kills += 1
    const start = victim.start().then(() => void starting.delete(start))
    // One that failed stays for stop() to tell of.
    start.catch(() => {})
    starting.add(start)
  })
  return {
    strikes: () => kills,
    async stop() {
      await striking.stop()
      await Promise.all(starting)
    },
  }
}
