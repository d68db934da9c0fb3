// The two ways to connect to Redis. The producer's connection fails fast, so that a request is answered 503 instead of
// hanging; the worker's waits for Redis to come back, because its work can wait and must not be lost.
import { Redis } from 'ioredis'
import { socketPath } from '../redis-socket.ts'

/** A connection to Redis. */
export type { ChainableCommander as Transaction, Redis } from 'ioredis'

const KEEP_ALIVE_MS = 5_000
/** How often a Redis that loads its files is asked whether it is done; ioredis itself waits up to 10 s. */
const LOADING_CHECK_MS = 200

/**
 * Writes all commands of one turn of the event loop to the socket together. A busy worker then makes 1.1 system calls
 * per message that write instead of 4, and takes 120 µs of CPU time instead of 165; Redis, which syncs its file once per
 * turn of its own loop, syncs for many. The commands and their order stay as they are, unlike with ioredis's
 * autopipelining, which halves BullMQ's workers. A connection that is closed in the meantime writes them first. BullMQ's
 * blocking connections are made by `duplicate()`, which makes plain ones.
 */
class GatheringRedis extends Redis {
  override sendCommand(...args: Parameters<Redis['sendCommand']>): unknown {
    const { stream } = this
    // Every cork has its one uncork, on the very stream: a reconnect brings another.
    if (stream?.writableCorked === 0) {
      stream.cork()
      setImmediate(() => stream.uncork())
    }
    return super.sendCommand(...args)
  }
}

/**
 * For processes that answer requests: nothing is queued while Redis is away and no command outlives 2 s.
 * `maxRetriesPerRequest: 0` also keeps ioredis from sending an unanswered command again after a reconnect, which
 * measured as one INCR counted twice.
 */
export function connectFailFast(url: string): Redis {
  return new GatheringRedis(socketPath(url) ?? url, {
    protocol: 2,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 2_000,
    connectTimeout: 2_000,
    socketTimeout: 5_000,
    keepAlive: KEEP_ALIVE_MS,
    maxLoadingRetryTime: LOADING_CHECK_MS,
    retryStrategy: (tries) => Math.min(50 * tries, 500),
  })
}

/**
 * For workers: commands wait for Redis and are sent again after a reconnect, so everything written through it must be
 * idempotent. `socketTimeout` must stay above BullMQ's longest block of 10 s: at 8 s an idle worker saw false errors,
 * and without it a half-open socket was not noticed in 75 s.
 */
export function connectWithRetry(url: string): Redis {
  return new GatheringRedis(socketPath(url) ?? url, {
    protocol: 2,
    maxRetriesPerRequest: null,
    connectTimeout: 5_000,
    socketTimeout: 12_000,
    keepAlive: KEEP_ALIVE_MS,
    maxLoadingRetryTime: LOADING_CHECK_MS,
    retryStrategy: (tries) => Math.min(50 * tries, 1_000),
  })
}

/** Resolves once the connection takes commands, or after `limitMs` all the same. */
export function readyOrLate(redis: Redis, limitMs: number): Promise<void> {
  if (redis.status === 'ready') return Promise.resolve()
  return new Promise((resolve) => {
    const limit = setTimeout(resolve, limitMs)
    redis.once('ready', () => {
      clearTimeout(limit)
      resolve()
    })
  })
}
