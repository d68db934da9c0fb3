// Connects to Redis, Sentinel or a cluster. The producer's connection fails fast, so that a request is answered 503 instead
// of hanging; the worker's waits for Redis to come back, because its work can wait and must not be lost.
import { Cluster, Command, type RedisOptions, type Redis as Single } from 'ioredis'
import { type RedisAddress, readRedisAddress } from '../kernel/redis-address.ts'
import { CorkedCluster, CorkedRedis } from './connections.ts'

/** A connection to Redis: to a server or to a cluster. */
export type Redis = Single | Cluster
export type { ChainableCommander as Transaction } from 'ioredis'

/** A connection to one server. */
export type RedisNode = Single

const KEEP_ALIVE_MS = 5_000
/** How often to check whether Redis has loaded its files; ioredis itself waits up to 10 s. */
const LOADING_CHECK_MS = 200

/** What a way to connect means for a server, and for a cluster as a whole. */
interface Way {
  options: Omit<RedisOptions, 'replyMapping' | 'retryStrategy'> & { retryStrategy: (tries: number) => number }
  /** A command that has no answer by then is rejected (ms). */
  answerMs?: number
  enableOfflineQueue: boolean
  /** How often a command goes to another server of a cluster, and how long (ms) it waits for one to take over; 0: not at all. */
  maxRedirections: number
  waitForServerMs: number
  /** What becomes of a command that a server refused because it is the primary no more; see ioredis's reconnectOnError. */
  refusedByReplica: 1 | 2
}

/**
 * For processes that answer requests: nothing is queued while Redis is away and no command outlives 2 s.
 * `maxRetriesPerRequest: 0` also keeps ioredis from sending an unanswered command again after a reconnect, which
 * measured as one INCR counted twice.
 */
const FAIL_FAST: Way = {
  options: {
    protocol: 2,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    sentinelCommandTimeout: 2_000,
    socketTimeout: 5_000,
    keepAlive: KEEP_ALIVE_MS,
    maxLoadingRetryTime: LOADING_CHECK_MS,
    retryStrategy: (tries) => Math.min(50 * tries, 500),
  },
  answerMs: 2_000,
  enableOfflineQueue: false,
  maxRedirections: 16,
  waitForServerMs: 0,
  refusedByReplica: 1,
}

/**
 * For workers: commands wait for Redis and are sent again after a reconnect, so everything written through it must be
 * idempotent. `socketTimeout` must stay above BullMQ's longest block of 10 s: at 8 s an idle worker saw false errors,
 * and without it a half-open socket was not noticed in 75 s.
 */
const WITH_RETRY: Way = {
  options: {
    protocol: 2,
    maxRetriesPerRequest: null,
    connectTimeout: 5_000,
    sentinelCommandTimeout: 5_000,
    socketTimeout: 12_000,
    keepAlive: KEEP_ALIVE_MS,
    maxLoadingRetryTime: LOADING_CHECK_MS,
    retryStrategy: (tries) => Math.min(50 * tries, 1_000),
  },
  enableOfflineQueue: true,
  maxRedirections: Number.POSITIVE_INFINITY,
  waitForServerMs: 100,
  refusedByReplica: 2,
}

/** For processes that answer requests. Throws a RedisAddressError. */
export const connectFailFast = (url: string): Redis => connect(readRedisAddress(url), FAIL_FAST)

/** For workers. Throws a RedisAddressError. */
export const connectWithRetry = (url: string): Redis => connect(readRedisAddress(url), WITH_RETRY)

function connect(address: RedisAddress, way: Way): Redis {
  const { options, answerMs, refusedByReplica } = way
  // A server that lost a failover and answers still, as a name that leads to another one by now may hide.
  const reconnectOnError = (error: Error) => (error.message.startsWith('READONLY') ? refusedByReplica : false)
  if (address.kind === 'single')
    return new CorkedRedis({ ...options, reconnectOnError }, { answerMs, url: address.url })
  const { hosts, tls } = address
  const { retryStrategy, enableOfflineQueue: _ofServer, ...each } = options
  const access = { ...named('username', address.username), ...named('password', address.password) }
  if (address.kind === 'sentinel') {
    const { sentinels, primary, db } = address
    const found: ConstructorParameters<typeof CorkedRedis>[0] = {
      ...{ ...options, ...access, reconnectOnError, sentinels: hosts, name: primary, role: 'master', db },
      ...named('sentinelUsername', sentinels.username),
      ...named('sentinelPassword', sentinels.password),
      ...(tls ? { tls: {}, enableTLSForSentinelMode: true } : {}),
      ...(sentinels.tls ? { sentinelTLS: {} } : {}),
      sentinelRetryStrategy: retryStrategy,
    }
    return new CorkedRedis(found, { answerMs })
  }
  return new CorkedCluster(hosts, {
    redisOptions: { ...each, ...access, ...(tls ? { tls: {} } : {}) },
    clusterRetryStrategy: retryStrategy,
    enableOfflineQueue: way.enableOfflineQueue,
    maxRedirections: way.maxRedirections,
    retryDelayOnFailover: way.waitForServerMs,
    retryDelayOnClusterDown: way.waitForServerMs,
    retryDelayOnTryAgain: MOVING_AGAIN_MS,
    answerMs,
  })
}

/** Keys of a slot that is moving may be on two servers for a moment. */
const MOVING_AGAIN_MS = 20

/** An option that is left out when there is nothing to say. */
export const named = <K extends string>(name: K, value: string | undefined): { [name in K]?: string } =>
  value === undefined ? {} : ({ [name]: value } as { [name in K]: string })

/** Whether its keys lie on many servers. */
export const isCluster = (redis: Redis): redis is Cluster => redis instanceof Cluster

/** Connections to every server that takes writes. */
export const primariesOf = (redis: Redis): RedisNode[] => (redis instanceof Cluster ? redis.nodes('master') : [redis])

/** An identifier of the server that has a key, as far as known: the same for all keys without a cluster. */
export function serverOf(redis: Redis, key: string): string {
  if (!isCluster(redis)) return ''
  return redis.slots[new Command('exists', [key]).getSlot()]?.[0] ?? ''
}

/**
 * A connection that fails fast and answers. Rejects with the reason if it cannot connect, or does not answer within
 * `limitMs`.
 */
export async function openOrThrow(url: string, limitMs: number): Promise<Redis> {
  const redis = connectFailFast(url)
  const trouble = new Promise<never>((_resolve, reject) => {
    redis.on('error', (error) => reject(reasonIn(error)))
    // Its own message holds only the command.
    redis.on('sentinelError', (error: Error) => {
      if (error.message.endsWith('invalid reply: null')) reject(new Error('Sentinel knows no primary of this name'))
    })
  })
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${limitMs} ms`)), limitMs)
  })
  const answered = readyOrLate(redis, limitMs).then(() => redis.ping())
  try {
    await Promise.race([answered, trouble, limit])
    return redis
  } catch (error) {
    redis.disconnect()
    throw error
  } finally {
    clearTimeout(timer)
    answered.catch(() => {})
    trouble.catch(() => {})
  }
}

/** A cluster's error holds only that no server answered; it contains the last server's error. */
function reasonIn(error: Error): Error {
  const last: unknown = Reflect.get(error, 'lastNodeError')
  return last instanceof Error ? last : error
}

/** Resolves once the connection takes commands, or after `limitMs` all the same. */
export async function readyOrLate(redis: Redis, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    // Node takes longer ones for 1 ms.
    if (limitMs < 2 ** 31) timer = setTimeout(resolve, limitMs)
  })
  const ready = async (one: Redis, orGone = false) => {
    if (one.status === 'ready') return
    await new Promise<void>((resolve) => {
      one.once('ready', () => resolve())
      // Of a cluster one server may be away.
      if (orGone) one.once('end', () => resolve())
    })
  }
  const all = async () => {
    await ready(redis)
    if (redis instanceof Cluster) await Promise.all(redis.nodes('master').map((node) => ready(node, true)))
  }
  await Promise.race([all(), limit])
  clearTimeout(timer)
}
