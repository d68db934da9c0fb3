// The Redis of a rig: one server, a primary with replicas and three Sentinels, or a cluster.
import { join } from 'node:path'
import { type RedisCluster, startRedisCluster } from '../testbed/redis-cluster.ts'
import { type RedisWithSentinels, startRedisWithSentinels } from '../testbed/redis-sentinel.ts'
import { type RedisServer, startRedisServer } from '../testbed/redis-server.ts'

export interface TopologyPlan {
  /** Without one it is a single server. */
  topology?: 'sentinel' | 'cluster'
  /** Of each primary. */
  replicas?: number
  redisSettings?: Record<string, string>
  /** A command to run a single Redis under. */
  redisUnder?: readonly string[]
}

export interface Topology {
  url: string
  /** The only server, or the first. */
  first: RedisServer
  sentinels: RedisWithSentinels | undefined
  cluster: RedisCluster | undefined
  kill9(): Promise<void>
}

/** Starts it in `folder`. */
export async function startTopology(folder: string, plan: TopologyPlan): Promise<Topology> {
  const dir = join(folder, 'redis')
  const settings = plan.redisSettings ?? {}
  const replicas = plan.replicas ?? 1
  if (plan.topology === undefined) {
    const first = await startRedisServer(dir, { settings, before: plan.redisUnder ?? [] })
    return { url: first.url, first, sentinels: undefined, cluster: undefined, kill9: first.kill9 }
  }
  if (plan.topology === 'sentinel') {
    const sentinels = await startRedisWithSentinels(dir, { settings, replicas })
    return {
      url: sentinels.url,
      first: firstOf(sentinels.servers),
      sentinels,
      cluster: undefined,
      kill9: sentinels.stop,
    }
  }
  const cluster = await startRedisCluster(dir, { settings, replicas })
  return { url: cluster.url, first: firstOf(cluster.servers), sentinels: undefined, cluster, kill9: cluster.stop }
}

function firstOf(servers: readonly RedisServer[]): RedisServer {
  const [first] = servers
  if (!first) throw new Error('there is no server')
  return first
}
