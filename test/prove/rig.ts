// Everything that runs for one scenario: a private Redis, the simulator of WhatsApp, producers and workers as
// processes of their own, and proxies between them where the scenario wants to disturb a line.
//
//   client ──> producers ──[proxy]──> Redis <──[proxy]── workers ──[provider line]──> simulator
//                  ▲                                                                      │
//                  └──────────────────── front (a live producer) <── webhooks ────────────┘
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { freePort } from '../testbed/free-port.ts'
import type { RedisCluster } from '../testbed/redis-cluster.ts'
import type { RedisWithSentinels } from '../testbed/redis-sentinel.ts'
import type { RedisServer } from '../testbed/redis-server.ts'
import { type ChatProduct, createChatProduct } from './chat-product.ts'
import { type Client, createClient } from './client.ts'
import { createPart, type Part } from './part.ts'
import { type LineTls, type ProviderLine, startProviderLine } from './provider-line.ts'
import type { Random } from './random.ts'
import { startTopology, type TopologyPlan } from './redis-topology.ts'
import { startProxy, type TcpProxy } from './tcp-proxy.ts'
import { createTenant, type Tenant, type TenantPlan } from './tenant.ts'

export interface RigPlan extends TopologyPlan {
  tenants: readonly TenantPlan[]
  workers?: number
  producers?: number
  /** Settings of producers and workers, on top of the ones below. */
  env?: Record<string, string>
  /** Settings of producers alone, on top of those. */
  producerEnv?: Record<string, string>
  /** Settings of the worker of that number, from 1 on, on top of those. */
  workerEnv?: (worker: number) => Record<string, string>
  /** Settings of the simulator, on top of the ones below. */
  simulator?: Record<string, string>
  /** Whether producers and workers reach Redis through a proxy. */
  redisProxy?: true
  /** Whether processes that end by themselves are started again, as a supervisor does; otherwise they are a finding. */
  supervised?: true
}

export interface Rig {
  folder: string
  /** The only server, or the first. */
  redis: RedisServer
  sentinels: RedisWithSentinels | undefined
  cluster: RedisCluster | undefined
  /** The proof's own connection, past every proxy. */
  store: Redis
  chatProduct: ChatProduct
  producers: Part[]
  workers: Part[]
  tenants: Tenant[]
  /** The first of them. */
  tenant: Tenant
  client: Client
  redisLine: TcpProxy
  /** Between workers and WhatsApp. */
  providerLine: ProviderLine
  /** Where WhatsApp posts its webhooks. */
  frontUrl: string
  /** Address of a producer that runs. */
  liveProducer(): string
  /** Processes that ended although nobody ended them. */
  deaths: string[]
  /** How often a supervised process ended by itself. */
  crashes(): number
  /** One more producer, not yet started. */
  addProducer(): Promise<Part>
  /** One more worker, not yet started. */
  addWorker(): Part
  stop(): Promise<void>
}

export const SECRET_KEY = 'the secret key of the proof, 32 characters and more'
export const APP_SECRET = 'the app secret of the proof'

/** Messages of one lane that one worker has in flight at most. */
export const CONCURRENCY = 20

/**
 * Short waits, so that a run is not spent waiting, in the same order as the defaults: a provider answers, webhooks come,
 * the wait for evidence ends.
 */
const SETTINGS = {
  HOST: '127.0.0.1',
  LANEWAY_LOG_LEVEL: 'info',
  LANEWAY_SECRET_KEY: SECRET_KEY,
  LANEWAY_CLOUD_API_APP_SECRET: APP_SECRET,
  LANEWAY_CLOUD_API_VERIFY_TOKEN: 'verify-token',
  LANEWAY_MAX_IN_FLIGHT: String(CONCURRENCY),
  LANEWAY_SEND_TIMEOUT_SECONDS: '5',
  LANEWAY_UNCONFIRMED_WAIT_SECONDS: '4',
}
const SIMULATOR_SETTINGS = {
  SIMULATOR_APP_SECRET: APP_SECRET,
  SIMULATOR_SENT_MS: '50',
  SIMULATOR_DELIVERED_MS: '200',
  SIMULATOR_READ_MS: '500',
}

/** Starts it all in `folder`, from `build`; workers reach WhatsApp over `tls`, if there is any. */
export async function startRig(
  where: { build: string; folder: string; random: Random; tls: LineTls | undefined },
  plan: RigPlan,
): Promise<Rig> {
  const { build, folder, random, tls } = where
  const logs = join(folder, 'logs')
  mkdirSync(logs, { recursive: true })
  const deaths: string[] = []
  const died = (how: string) => void deaths.push(how)
  let crashes = 0
  let stopping = false

  const topology = await startTopology(folder, plan)
  const redis = topology.first
  const redisLine = await startProxy(() => redis.port, random.fork('redis line'))
  const redisUrl = plan.redisProxy ? `redis://127.0.0.1:${redisLine.port}` : topology.url
  const store = connectWithRetry(topology.url)
  store.on('error', () => {})

  const env = { ...SETTINGS, ...tls?.settings, LANEWAY_DATA_DIR: join(folder, 'data'), ...plan.env }
  const producers: Part[] = []
  const addProducer = async (): Promise<Part> => {
    const own = { ...env, PORT: String(await freePort()), REDIS_URL: redisUrl, ...plan.producerEnv }
    const name = `producer ${producers.length + 1}`
    const producer = createPart({ kind: 'producer', name, build, logs, died, env: own })
    producers.push(producer)
    return producer
  }
  for (let n = 1; n <= (plan.producers ?? 1); n += 1) await addProducer()
  const liveUrls = () => producers.filter((each) => each.isRunning() && each.url !== '').map(({ url }) => url)
  const front = await startProxy(() => portOf(liveUrls()[0]), random.fork('front'))
  const frontUrl = `http://127.0.0.1:${front.port}`

  const chatProduct = createChatProduct({
    build,
    folder,
    logs,
    died,
    env: { ...SIMULATOR_SETTINGS, SIMULATOR_WEBHOOK_URL: `${frontUrl}/webhooks/cloud-api`, ...plan.simulator },
  })
  await chatProduct.start()
  const providerLine = await startProviderLine(() => portOf(chatProduct.url), random.fork('provider line'), tls)
  const { url: providerUrl } = providerLine

  const workers: Part[] = []
  const addWorker = (): Part => {
    const own = { ...env, REDIS_URL: redisUrl, ...plan.workerEnv?.(workers.length + 1) }
    const name = `worker ${workers.length + 1}`
    const revive = (): void => {
      crashes += 1
      // Should it end again before it is ready, this is called again.
      if (!stopping) worker.start().catch(() => {})
    }
    const worker = createPart({ kind: 'worker', name, build, logs, died: plan.supervised ? revive : died, env: own })
    workers.push(worker)
    return worker
  }
  for (let n = 1; n <= (plan.workers ?? 1); n += 1) addWorker()

  const tenants: Tenant[] = []
  for (const [place, tenant] of plan.tenants.entries()) {
    tenants.push(await createTenant(store, { secretKey: SECRET_KEY, providerUrl, place }, tenant))
  }
  const [tenant] = tenants
  if (!tenant) throw new Error('a rig needs a tenant')
  await Promise.all([...producers, ...workers].map((part) => part.start()))

  return {
    folder,
    redis,
    sentinels: topology.sentinels,
    cluster: topology.cluster,
    store,
    chatProduct,
    producers,
    workers,
    tenants,
    tenant,
    client: createClient(liveUrls),
    redisLine,
    providerLine,
    frontUrl,
    liveProducer() {
      const [url] = liveUrls()
      if (url === undefined) throw new Error('no producer is running')
      return url
    },
    deaths,
    crashes: () => crashes,
    addProducer,
    addWorker,
    async stop() {
      stopping = true
      await Promise.all([...workers, ...producers, chatProduct].map((part) => part.kill9()))
      store.disconnect()
      await Promise.all([redisLine.close(), providerLine.close(), front.close()])
      await topology.kill9()
    },
  }
}

const portOf = (url: string | undefined): number | undefined => (url ? Number(new URL(url).port) : undefined)
