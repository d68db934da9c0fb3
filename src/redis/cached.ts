// Reads of Redis whose answers are kept in memory for a moment.
import { LRUCache } from 'lru-cache'
import { mostEntries } from '../kernel/most-entries.ts'
import { isCluster, type Redis } from './connect.ts'
import { isRedisAway } from './errors.ts'

/** Most answers that are kept of one read; a credential's is about half a KB. */
const MOST = 10_000

type Key = string | number | boolean

/**
 * A read whose answers are kept for `keptMs`, per connection: a change takes effect within that time. Accepting a message
 * needs its key, account, template and sender, and reading them for each cost three round trips and 250 of 430 µs of CPU
 * time. What is not there is not kept, so that something new is found at once, and neither is a failure. Simultaneous reads
 * of the same are one. While a server of a cluster is away, its last answers hold; with a single Redis the read fails at
 * once, or each command of the request would wait its 2 s, one after the other. Answers are shared and must not be changed.
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
        ...mostEntries(MOST),
        ttl: keptMs,
        // The clock is read at each look: within one event-loop tick seconds may pass.
        ttlResolution: 0,
        perf: performance,
        // Nobody can change it meanwhile on a server that is away.
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
