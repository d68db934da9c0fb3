// The servers behind a connection, for what must be asked of each.
import { Cluster, Redis } from 'ioredis'
import { type Redis as Connection, named, type RedisNode } from './connect.ts'

/** How long one server may take. */
const LIMIT_MS = 5_000

/** All servers that there are, replicas too; `close` ends the connections that were opened for them. */
export async function everyNode(redis: Connection): Promise<{ all: RedisNode[]; close: () => void }> {
  if (redis instanceof Cluster) {
    const copy = redis.duplicate()
    copy.on('error', () => {})
    if (copy.status !== 'ready') await new Promise<void>((resolve) => copy.once('ready', () => resolve()))
    return { all: copy.nodes('all'), close: () => copy.disconnect() }
  }
  // Of a single server nobody promises that its replicas can be reached from here, nor that one takes its place.
  if (!redis.options.sentinels) return { all: [redis], close: () => {} }
  const { tls, username, password } = redis.options
  const access = { ...named('username', username ?? undefined), ...named('password', password ?? undefined) }
  const found = (await redis.info('replication')).matchAll(/^slave\d+:ip=([^,]+),port=(\d+),state=online/gm)
  const replicas = [...found].map(([, host = '', port = '']) => {
    const replica = new Redis(Number(port), host, {
      ...{ ...access, ...(tls ? { tls } : {}), protocol: 2 },
      ...{ connectTimeout: LIMIT_MS, commandTimeout: LIMIT_MS, maxRetriesPerRequest: 1 },
    })
    // The command that it hits reports it.
    replica.on('error', () => {})
    return replica
  })
  const close = () => {
    for (const replica of replicas) replica.disconnect()
  }
  return { all: [redis, ...replicas], close }
}
