// A whole service in one process for a test: private Redis, simulator, producer, worker, and an account with its keys
// and two senders, one per wire. Nothing is stood in for but WhatsApp.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDemoTraffic, type DemoTraffic } from '../../packages/simulator/demo/traffic.ts'
import type { SimulatorConfig } from '../../packages/simulator/src/config.ts'
import { type Simulator, startSimulator } from '../../packages/simulator/src/simulator.ts'
import { createAccount } from '../../src/accounts/accounts.ts'
import { addSender, type NewSender } from '../../src/accounts/add-sender.ts'
import { createCredential, type Permission } from '../../src/accounts/credentials.ts'
import { importTemplate } from '../../src/accounts/templates.ts'
import { type Config, loadConfig } from '../../src/kernel/config.ts'
import type { Log } from '../../src/kernel/log.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { OPERATOR } from '../../src/model/accounts/permissions.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { startProducer } from '../../src/producer/main.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { startWorker } from '../../src/worker/main.ts'
import { type Api, apiClient } from './api.ts'
import { silentLog } from './app.ts'
import { startRedis, type TestRedis } from './redis.ts'

export const PHONE_NUMBER_ID = '106540352242922'

export interface Tenant {
  account: number
  /** A new key that has only these permissions. */
  key: (...permissions: Permission[]) => Promise<string>
  /** A client that shows such a key. */
  apiWith: (...permissions: Permission[]) => Promise<Api>
  /** A key for sending and looking up. */
  apiKey: string
  /** A client that shows it. */
  api: Api
  partnerLane: number
  cloudLane: number
  partnerNumber: string
  cloudNumber: string
}

export interface Service {
  url: string
  redis: Redis
  server: TestRedis
  simulator: Simulator
  /** The switch for made-up traffic; there is none until it is aimed. */
  traffic: DemoTraffic
  config: Config
  /** With these variables the command line works on this installation. */
  settings: Record<string, string>
  /** A client without a key. */
  api: Api
  /** A client with a key of an operator. */
  operator: () => Promise<Api>
  /** POSTs JSON and returns status and parsed body. */
  post: (path: string, body: object, headers?: Record<string, string>) => Promise<{ status: number; body: unknown }>
  addTenant: (options?: { defaultProvider?: 'partner-api' | 'cloud-api'; rate?: number }) => Promise<Tenant>
  startWorker: () => Promise<{ close: () => Promise<void> }>
  stopWorker: () => Promise<void>
  close: () => Promise<void>
}

/** Starts everything; without `worker: false` a worker too. */
export async function startService(
  options: {
    env?: Record<string, string>
    simulator?: Partial<SimulatorConfig>
    worker?: boolean
    templates?: readonly unknown[]
    /** Connections that the producer has at most; its own limit unless given. */
    connectionsMax?: number
    /** Of producer and worker; silent unless given. */
    log?: Log
  } = {},
): Promise<Service> {
  const dataDir = mkdtempSync(join(tmpdir(), 'laneway-data-'))
  const server = await startRedis()
  const config = loadConfig({
    PORT: '0',
    LANEWAY_DATA_DIR: dataDir,
    LANEWAY_LOG_LEVEL: 'silent',
    LANEWAY_CLOUD_API_APP_SECRET: 'app-secret',
    LANEWAY_CLOUD_API_VERIFY_TOKEN: 'verify-token',
    // The simulator runs in this process too, and a busy machine may stand still for seconds: messages without an answer
    // would pause campaigns. Tests of time-outs set a short one.
    LANEWAY_SEND_TIMEOUT_SECONDS: '60',
    // For the same reason a request waits until an erasure or a bulk move is done, and is not answered that it goes on.
    LANEWAY_BULK_MOVE_WAIT_SECONDS: '60',
    ...options.env,
  })
  const redis = connectWithRetry(server.url)
  // A test that stops its server knows that nobody answers; a command that fails still says so.
  redis.on('error', () => {})
  const log = options.log ?? silentLog
  const traffic = createDemoTraffic(log)
  const { connectionsMax } = options
  const limited = connectionsMax === undefined ? config : { ...config, connectionsMax }
  const producer = await startProducer(limited, server.url, log, undefined, traffic)
  const simulator = await startSimulator({
    port: 0,
    appSecret: 'app-secret',
    webhookUrl: `${producer.url}/webhooks/cloud-api`,
    sentMs: 0,
    deliveredMs: 0,
    readMs: 0,
    ...options.simulator,
  })
  const queues = openLaneQueues(redis)
  const seal = createSeal(secretKeysOf(config))
  let worker = options.worker === false ? undefined : await startWorker(config, server.url, log)
  const api = apiClient(producer.url)
  let tenants = 0

  const service: Service = {
    url: producer.url,
    redis,
    server,
    simulator,
    traffic,
    config,
    settings: { REDIS_URL: server.url, LANEWAY_DATA_DIR: dataDir },
    api,
    operator: async () => api.as((await createCredential(redis, 0, [OPERATOR], Date.now())).secret),
    async post(path, body, headers = {}) {
      const response = await fetch(`${producer.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
      return { status: response.status, body: await response.json() }
    },
    async addTenant({ defaultProvider = 'partner-api', rate = 1_000 } = {}) {
      tenants += 1
      // Tests that run side by side add theirs at the same time.
      const place = tenants
      const account = await createAccount(redis, `tenant ${place}`)
      const common = {
        account,
        baseUrl: simulator.url,
        sealedToken: seal.encrypt('token'),
        rate,
        honoursIdempotency: false,
      }
      const add = async (sender: Pick<NewSender, 'number' | 'name' | 'provider' | 'phoneNumberId'>) => {
        const lane = await addSender(redis, { ...common, ...sender, isDefault: sender.provider === defaultProvider })
        return lane
      }
      const partnerNumber = `49170000${1000 + place}`
      const cloudNumber = `49171000${1000 + place}`
      const partnerLane = await add({
        number: partnerNumber,
        name: 'partner',
        provider: 'partner-api',
        phoneNumberId: '',
      })
      const phoneNumberId = `${PHONE_NUMBER_ID}${place}`
      const cloudLane = await add({ number: cloudNumber, name: 'cloud', provider: 'cloud-api', phoneNumberId })
      for (const template of options.templates ?? []) {
        await importTemplate(redis, account, templateSchema.parse(template))
      }
      const key = async (...permissions: Permission[]) =>
        (await createCredential(redis, account, permissions, Date.now())).secret
      const apiKey = await key('messages:send', 'messages:read')
      return {
        account,
        key,
        apiWith: async (...permissions) => api.as(await key(...permissions)),
        apiKey,
        api: api.as(apiKey),
        partnerLane,
        cloudLane,
        partnerNumber,
        cloudNumber,
      }
    },
    async startWorker() {
      worker = await startWorker(config, server.url, log)
      return worker
    },
    async stopWorker() {
      await worker?.close()
      worker = undefined
    },
    async close() {
      traffic.stop()
      await worker?.close()
      await simulator.close()
      await producer.close()
      await queues.close()
      redis.disconnect()
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
  return service
}
