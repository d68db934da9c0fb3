// Converts times of Redis' clock to ours. Slots are on the clock of the lane's Redis server, which all workers share. Our own
// clock may be minutes off, and so may that of another server of a cluster.
export type RedisClock = ReturnType<typeof createRedisClock>

/**
 * Learns from every reply that carries the time of Redis: it was taken after our request and before its reply came. Our side
 * is `performance.now()`, which nobody sets. `serverOf` names the server of a lane.
 */
export function createRedisClock(serverOf: (lane: number) => string = () => '') {
  /** Redis' time less ours (ms), by server. */
  const offsets = new Map<string, number>()

  return {
    /** The lane's Redis returned the time `redisMs` to a request sent at `askedAt` and answered at `answeredAt`. */
    observe(lane: number, askedAt: number, redisMs: number, answeredAt: number): void {
      const [least, most] = [redisMs - answeredAt, redisMs - askedAt]
      const server = serverOf(lane)
      const offset = offsets.get(server)
      if (offset === undefined && offsets.size >= MOST_SERVERS) offsets.clear()
      // A known offset is kept while this reply allows it. If not, a clock was set or has drifted, or the primary changed.
      offsets.set(server, offset === undefined ? least : Math.min(Math.max(offset, least), most))
    },

    /** The `performance.now()` of a time of the lane's Redis. Valid only after a first reply. */
    ours: (lane: number, redisMs: number): number => redisMs - (offsets.get(serverOf(lane)) ?? anyOf(offsets)),
  }
}

/** Beyond this, most are servers that are gone. */
const MOST_SERVERS = 1_000

/** For a lane on a server that has not replied yet: another server's clock is most likely right. */
const anyOf = (offsets: ReadonlyMap<string, number>): number => offsets.values().next().value ?? 0
