// The connection of a client to the Redis that Laneway runs on: one server, the primary that Sentinel names, or a cluster.
import { once } from 'node:events'
import { Cluster, Redis } from 'ioredis'
import { type RedisAddress, RedisAddressError, readRedisAddress } from '../../../src/redis-address.ts'
import { LanewayUnavailable } from './errors.ts'

/** Of one server: nothing is queued while Redis is away, no command outlives 2 s or is sent twice. */
const EACH = {
  protocol: 2,
  maxRetriesPerRequest: 0,
  commandTimeout: 2_000,
  connectTimeout: 2_000,
  sentinelCommandTimeout: 2_000,
  socketTimeout: 5_000,
  keepAlive: 5_000,
  maxLoadingRetryTime: 200,
} as const
const retryStrategy = (tries: number): number => Math.min(50 * tries, 500)
/** After a failover the old primary answers READONLY: connect again to find the new one. */
const reconnectOnError = (error: Error): boolean => error.message.startsWith('READONLY')

/** A connection that fails fast. Throws a TypeError for an address of no known form. */
export async function connect(redisUrl: string): Promise<Redis | Cluster> {
  const redis = open(addressOf(redisUrl))
  // Trouble is reported by the call that it hits; without a listener it would end the process.
  redis.on('error', () => {})
  try {
    await once(redis, 'ready')
    // A cluster is ready before its servers are; calls fail until then.
    if (redis instanceof Cluster) await Promise.all(redis.nodes('master').map(ready))
    return redis
  } catch (cause) {
    redis.disconnect()
    throw new LanewayUnavailable('Redis cannot be reached; check its address.', { cause })
  }
}

async function ready(node: Redis): Promise<void> {
  // One that is away is for the calls that need it.
  if (node.status !== 'ready') await Promise.race([once(node, 'ready'), once(node, 'end')])
}

function addressOf(url: string): RedisAddress {
  try {
    return readRedisAddress(url)
  } catch (error) {
    throw error instanceof RedisAddressError ? new TypeError(`redisUrl ${error.message}.`) : error
  }
}

function open(address: RedisAddress): Redis | Cluster {
  if (address.kind === 'single') {
    return new Redis(address.url, {
      ...EACH,
      enableOfflineQueue: false,
      retryStrategy,
      reconnectOnError,
    })
  }
  const { hosts, username, password, tls } = address
  const access = { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) }
  if (address.kind === 'sentinel') {
    const { sentinels, primary, db } = address
    return new Redis({
      ...{ ...EACH, ...access, enableOfflineQueue: false, retryStrategy, reconnectOnError },
      ...{ sentinels: hosts, name: primary, role: 'master', db },
      sentinelRetryStrategy: retryStrategy,
      ...(sentinels.username === undefined ? {} : { sentinelUsername: sentinels.username }),
      ...(sentinels.password === undefined ? {} : { sentinelPassword: sentinels.password }),
      ...(tls ? { tls: {}, enableTLSForSentinelMode: true } : {}),
      ...(sentinels.tls ? { sentinelTLS: {} } : {}),
    })
  }
  const cluster = new Cluster(hosts, {
    redisOptions: { ...EACH, ...access, ...(tls ? { tls: {} } : {}) },
    // Certificates are for names, and without this ioredis connects to what they stand for.
    ...(tls ? { dnsLookup: (name, found) => found(null, name) } : {}),
    ...{
      scaleReads: 'master',
      enableOfflineQueue: false,
      enableReadyCheck: false,
      clusterRetryStrategy: retryStrategy,
    },
    ...{ retryDelayOnMoved: 20, retryDelayOnFailover: 0, retryDelayOnClusterDown: 0, retryDelayOnTryAgain: 20 },
  })
  cluster.on('+node', (node: Redis) => {
    if (!node.options.readOnly) node.connect().catch(() => {})
  })
  // Nobody else asks where the slots are now.
  cluster.on('-node', () => {
    setTimeout(() => {
      if (cluster.status === 'ready') cluster.refreshSlotsCache()
    }, 200).unref()
  })
  return cluster
}
