// Redis' clock on ours. The slots of a lane are on Redis' clock, which all workers share; ours may be minutes off.

export type RedisClock = ReturnType<typeof createRedisClock>

/**
 * Learns from every answer that says what time it was on Redis: that was after we asked and before the answer came.
 * `performance.now()` is the clock on our side, for nobody sets it.
 */
export function createRedisClock() {
  /** Redis' time less ours (ms). */
  let offset: number | undefined

  return {
    /** Redis said `redisMs` in answer to what was asked at `askedAt` and answered at `answeredAt`. */
    heard(askedAt: number, redisMs: number, answeredAt: number): void {
      const [least, most] = [redisMs - answeredAt, redisMs - askedAt]
      // What is known already is finer than this answer as long as the two agree. When they do not, a clock was set or
      // has drifted.
      offset = offset === undefined ? least : Math.min(Math.max(offset, least), most)
    },

    /** What `performance.now()` says at a time of Redis. Only after it has been heard once. */
    ours: (redisMs: number): number => redisMs - (offset ?? 0),
  }
}
