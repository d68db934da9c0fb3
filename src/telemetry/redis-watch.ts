// Watches over the Redis of a part while it runs, and logs what can lose messages or stop everything: settings that somebody
// changed, evicted keys, a clock that leapt, other data than before. What metrics and console show of it they read themselves.
import type { Log } from '../kernel/log.ts'
import { repeatedly } from '../kernel/repeatedly.ts'
import type { Redis } from '../redis/connect.ts'
import { assertSameInstallation, OtherInstallationError } from '../redis/installation.ts'
import { evictedKeys, redisSettings, wrongOf } from '../redis/safety.ts'
import { CLOCK_CHECK_MS, checkClock } from '../redis/trusted-clock.ts'

/** How often each part checks whether the settings still are what they were. */
export const WATCH_MS = 30_000

/**
 * Checks the clock of Redis every few seconds and everything else every half minute, until stopped. Logs each problem when
 * it is new, and each check that finds more evicted keys than the one before.
 */
export function watchRedis(redis: Redis, log: Log, everyMs = WATCH_MS): { stop: () => void } {
  let isStopped = false
  let known: readonly string[] | undefined
  let evicted: number | undefined
  const check = async () => {
    try {
      await assertSameInstallation(redis)
    } catch (error) {
      if (!(error instanceof OtherInstallationError)) throw error
      return log.error({ err: error }, 'redis.other_data')
    }
    const [settings, all] = await Promise.all([redisSettings(redis), evictedKeys(redis)])
    // A check that was under way no longer counts.
    if (isStopped) return
    const problems = wrongOf(settings.filter(({ name }) => name !== 'evicted_keys'))
    // Those of the start were logged by it.
    for (const problem of known === undefined ? [] : problems) {
      if (!known?.includes(problem)) log.error({ problem }, 'redis.unsafe')
    }
    if (problems.length === 0 && known !== undefined && known.length > 0) log.info('redis.safe')
    known = problems
    if (all > (evicted ?? all)) log.error({ keys: all - (evicted ?? 0) }, 'redis.evicted')
    evicted = all
  }
  const watches = [repeatedly(CLOCK_CHECK_MS, () => checkClock(redis, log), log), repeatedly(everyMs, check, log)]
  return {
    stop() {
      isStopped = true
      for (const each of watches) each.stop()
    },
  }
}
