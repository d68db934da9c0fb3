// The connection over which a worker gets wakes. After subscribing it sends nothing, so it would not notice that it is half open, for
// example when a firewall dropped it. No wake would arrive, and messages for an empty lane would wait until a restart, in every worker
// behind that firewall.
import { isCluster, type Redis } from '../redis/connect.ts'
import { isRedisAway, RedisUnavailableError, withTimeout } from '../redis/errors.ts'

/** How often the connection is tried. With `socketTimeout` (redis/connect.ts) a dead one is replaced 15 s after it last worked. */
export const TRY_EVERY_MS = 3_000
/** A cluster's connection for published messages has no such limit: it is replaced when it has not answered for this long. */
const CLUSTER_LIMIT_MS = 12_000

/**
 * Subscribes once more, which changes nothing, and resolves when the server has answered: the one command that is allowed on such a
 * connection of a single Redis and of a cluster alike.
 */
export async function tryListener(listener: Redis, channels: readonly string[]): Promise<void> {
  const answered = listener.subscribe(...channels)
  try {
    await (isCluster(listener) ? withTimeout(CLUSTER_LIMIT_MS, answered) : answered)
  } catch (error) {
    if (!isRedisAway(error)) throw error
    // It subscribes again by itself.
    if (error instanceof RedisUnavailableError && listener.status === 'ready') listener.disconnect(true)
  }
}
