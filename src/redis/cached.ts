// Keeps what was read from Redis for a moment. Accepting a message needs its key, account, template and sender, which
// seldom change: reading them for each message cost three round trips and 250 of 430 µs of CPU time.
import { LRUCache } from 'lru-cache'
import { isCluster, type Redis } from './connect.ts'
import { isRedisAway } from './errors.ts'

/** Those not asked for the longest go first when there are more; a credential's entry is about half a KB. */
const MOST = 10_000

type Key = string | number | boolean

/**
 * A read whose answers are kept for `keptMs`, in this process and per connection: a change takes effect within that
 * time. What is not there is not kept, so that something new is found at once, and neither is a failure. Reads of the
 * same at the same time are one read. While the server of a cluster that has it is away, the last answer holds; a Redis
 * that is one server has nothing else to offer then, and the failure is told at once: each command of the request would
 * wait its 2 s for it, one after the other. Answers are shared: they must not be changed.
 */
export function cached<A extends readonly Key[], V extends NonNullable<unknown>>(
  keptMs: number,
  read: (redis: Redis, ...args: A) => Promise<V | undefined>,
): (redis: Redis, ...args: A) => Promise<V | undefined> {
  const connections = new WeakMap<Redis, LRUCache<string, V, { args: A }>>()
  return (redis, ...args) => {
    const kept =
      connections.get(redis) ??
      new LRUCache<string, V, { args: A }>({
        max: MOST,
        ttl: keptMs,
        // The clock is read at each look: within one event-loop tick seconds may pass.
        ttlResolution: 0,
        perf: performance,
        // Of a cluster one server may be away: what it knew holds, for nobody can change it there meanwhile.
        fetchMethod: (_key, known, { context }) =>
          read(redis, ...context.args).catch((error: unknown) => {
            if (known === undefined || !isRedisAway(error) || !isCluster(redis)) throw error
            return known
          }),
      })
    connections.set(redis, kept)
    return kept.fetch(JSON.stringify(args), { context: { args } })
  }
}
