// Redis' clock on ours. The slots of a lane are on the clock of its server, which all workers share; ours may be minutes off,
// and so may be that of another server of a cluster.

export type RedisClock = ReturnType<typeof createRedisClock>

/**
 * Learns from every answer that says what time it was on Redis: that was after we asked and before the answer came.
 * `performance.now()` is the clock on our side, for nobody sets it. `serverOf` names the server of a lane.
 */
export function createRedisClock(serverOf: (lane: number) => string = () => '') {
  /** Redis' time less ours (ms), by server. */
  const offsets = new Map<string, number>()

  return {
    /** The lane's Redis said `redisMs` in answer to what was asked at `askedAt` and answered at `answeredAt`. */
    heard(lane: number, askedAt: number, redisMs: number, answeredAt: number): void {
      const [least, most] = [redisMs - answeredAt, redisMs - askedAt]
      const server = serverOf(lane)
      const offset = offsets.get(server)
      // Servers that are gone.
      if (offset === undefined && offsets.size >= MOST_SERVERS) offsets.clear()
      // What is known already is finer than this answer as long as the two agree. When they do not, a clock was set or
      // has drifted, or another server is the primary.
      offsets.set(server, offset === undefined ? least : Math.min(Math.max(offset, least), most))
    },

    /** What `performance.now()` says at a time of the lane's Redis. Only after it has been heard once. */
    ours: (lane: number, redisMs: number): number => redisMs - (offsets.get(serverOf(lane)) ?? anyOf(offsets)),
  }
}

const MOST_SERVERS = 1_000

/** The slots of a lane moved to a server that was not heard yet: its clock is most likely right. */
const anyOf = (offsets: ReadonlyMap<string, number>): number => offsets.values().next().value ?? 0
