// A private Redis Cluster: a server process for each primary and replica, on loopback. Slots are shared out evenly; they
// can be moved, and servers be killed, frozen and started again.
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { type RedisServer, startRedisServer } from './redis-server.ts'

/** A primary is taken for dead after this. */
const NODE_TIMEOUT_MS = 2_000
const SLOTS = 16_384
const START_LIMIT_MS = 60_000

export interface RedisCluster {
  url: string
  /** The servers that began as primaries, then those that began as replicas, in the order of their primaries. */
  servers: RedisServer[]
  /** The server that is the primary of a key now. */
  primaryOf(key: string): Promise<RedisServer>
  /** Moves a slot with all its keys to another primary while it is used. */
  moveSlot(slot: number, from: RedisServer, to: RedisServer): Promise<void>
  slotOf(key: string): Promise<number>
  /** Waits until all slots are served and every primary has as many replicas as at the start, as far as they run. */
  settled(): Promise<void>
  /** Ends all servers in order; the files stay. */
  stop(): Promise<void>
}

/** Starts so many primaries with so many replicas each, and waits until all slots are served. */
export async function startRedisCluster(
  dir: string,
  options: { primaries?: number; replicas?: number; settings?: Record<string, string> } = {},
): Promise<RedisCluster> {
  const { primaries = 3, replicas = 0 } = options
  const settings = {
    'cluster-enabled': 'yes',
    'cluster-node-timeout': String(NODE_TIMEOUT_MS),
    // Slots whose primary is dead must not take the others with them.
    'cluster-require-full-coverage': 'no',
    'cluster-replica-validity-factor': '0',
    ...options.settings,
  }
  const servers = await Promise.all(
    Array.from({ length: primaries * (1 + replicas) }, (_, i) =>
      startRedisServer(join(dir, `node-${i}`), { settings }),
    ),
  )
  await joinUp(servers, primaries)
  const cluster: RedisCluster = {
    url: `redis+cluster://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    servers,
    async slotOf(key) {
      return asking(alive(servers), async (node) => Number(await node.call('CLUSTER', 'KEYSLOT', key)))
    },
    async primaryOf(key) {
      const slot = await cluster.slotOf(key)
      for (const server of servers.filter(isRunning)) {
        const owner = await ownerOf(server, slot).catch(() => undefined)
        const found = servers.find(({ port }) => port === owner)
        if (found) return found
      }
      throw new Error(`nobody serves the slot of ${key}`)
    },
    moveSlot: (slot, from, to) => moveSlot(servers, slot, from, to),
    settled: () => until(async () => (await Promise.all(servers.filter(isRunning).map(isSettled))).every(Boolean)),
    async stop() {
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
  await cluster.settled()
  return cluster
}

const isRunning = (server: RedisServer): boolean => server.isRunning()

function alive(servers: readonly RedisServer[]): RedisServer {
  const found = servers.find(isRunning)
  if (!found) throw new Error('no server of the cluster runs')
  return found
}

/** Makes one cluster of single servers. */
async function joinUp(servers: readonly RedisServer[], primaries: number): Promise<void> {
  const each = Math.ceil(SLOTS / primaries)
  const ids = await Promise.all(
    servers.map((server, i) =>
      asking(server, async (node) => {
        await node.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
        if (i < primaries) {
          await node.call('CLUSTER', 'ADDSLOTSRANGE', i * each, Math.min((i + 1) * each, SLOTS) - 1)
        }
        return String(await node.call('CLUSTER', 'MYID'))
      }),
    ),
  )
  for (const server of servers) {
    await asking(server, async (node) => {
      for (const { port } of servers) if (port !== server.port) await node.call('CLUSTER', 'MEET', '127.0.0.1', port)
    })
  }
  await until(async () => {
    const known = await Promise.all(servers.map((server) => asking(server, (node) => node.cluster('INFO'))))
    return known.every((info) => String(info).includes(`cluster_known_nodes:${servers.length}\r`))
  })
  for (const [i, server] of servers.entries()) {
    if (i < primaries) continue
    const of = ids[(i - primaries) % primaries] ?? ''
    // It refuses until it has heard of the slots of its primary.
    await until(() =>
      asking(server, (node) => node.call('CLUSTER', 'REPLICATE', of)).then(
        () => true,
        () => false,
      ),
    )
  }
}

/** Whether it serves, and is in step with its primary if it has one. */
async function isSettled(server: RedisServer): Promise<boolean> {
  return asking(server, async (node) => {
    const info = String(await node.cluster('INFO'))
    const replication = await node.info('replication')
    const isServed = info.includes('cluster_state:ok') && info.includes(`cluster_slots_ok:${SLOTS}`)
    return isServed && (replication.includes('role:master') || replication.includes('master_link_status:up'))
  }).catch(() => false)
}

async function ownerOf(server: RedisServer, slot: number): Promise<number | undefined> {
  const ranges: unknown = await asking(server, (node) => node.call('CLUSTER', 'SLOTS'))
  if (!Array.isArray(ranges)) return undefined
  const range: unknown = ranges.find(([from, to]) => Number(from) <= slot && slot <= Number(to))
  return Array.isArray(range) ? Number(range[2][1]) : undefined
}

const KEYS_AT_ONCE = 100

async function moveSlot(
  servers: readonly RedisServer[],
  slot: number,
  from: RedisServer,
  to: RedisServer,
): Promise<void> {
  const idOf = (server: RedisServer) => asking(server, async (node) => String(await node.call('CLUSTER', 'MYID')))
  const [source, target] = [await idOf(from), await idOf(to)]
  await asking(to, (node) => node.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source))
  await asking(from, async (node) => {
    await node.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target)
    for (;;) {
      const keys = await node.call('CLUSTER', 'GETKEYSINSLOT', slot, KEYS_AT_ONCE)
      if (!Array.isArray(keys) || keys.length === 0) break
      await node.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, 'KEYS', ...keys.map(String))
    }
  })
  // Whoever takes the slot first, so that nobody is sent back and forth.
  for (const server of [to, from, ...servers.filter((each) => each !== to && each !== from)]) {
    await asking(server, (node) => node.call('CLUSTER', 'SETSLOT', slot, 'NODE', target)).catch((error: Error) => {
      // Replicas hear of it from their primary.
      if (!error.message.includes('only with masters') && !error.message.includes('on a replica')) throw error
    })
  }
}

/** Asks one server on a connection of its own. */
async function asking<T>(server: RedisServer, ask: (node: Redis) => Promise<T>): Promise<T> {
  const node = new Redis(server.port, '127.0.0.1', { protocol: 2, retryStrategy: () => null, commandTimeout: 10_000 })
  node.on('error', () => {})
  try {
    return await ask(node)
  } finally {
    node.disconnect()
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + START_LIMIT_MS
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('the cluster did not settle')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
