// Laneway as a contender: its own Redis, one producer process, one worker process, an account with 100 keys, an
// approved template that every message is held against, and senders on the Cloud API wire that point at the sink.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createAccount } from '../src/accounts/accounts.ts'
import { addSender } from '../src/accounts/add-sender.ts'
import { createCredential } from '../src/accounts/credentials.ts'
import { importTemplate } from '../src/accounts/templates.ts'
import { createSeal } from '../src/kernel/seal.ts'
import { type LaneQueues, openLaneQueues } from '../src/lanes/queues.ts'
import { MAX_RATE } from '../src/model/accounts/sender.ts'
import { templateSchema } from '../src/model/templates/template.ts'
import { freePort } from '../test/testbed/free-port.ts'
import type { Closing } from './closing.ts'
import type { Contender, Rig } from './contender.ts'
import { type Part, startPart, until } from './part.ts'
import { type BenchRedis, type Shape, startRedis } from './redis.ts'
import { TEMPLATES, type Traffic } from './traffic.ts'

const KEYS = 100
export const SECRET_KEY = 'the bench has no secrets but needs a key'
export const APP_SECRET = 'bench app secret'

export interface Laneway extends Contender {
  redis: BenchRedis
  producer: Part
  worker: Part
  /** Workers besides that one. */
  others: Part[]
  queues: LaneQueues
  laneIds: number[]
  /** Where the producer's metrics are, if requested. */
  metricsPort: number | undefined
  /** Many messages per request. */
  batch: (size: number, lanes?: number) => Traffic
  /** Lookups of the delivery status. */
  lookup: (ids: string[]) => Traffic
  /** One of the keys: it may send and look up. */
  key: string
}

/** Starts it with so many lanes, each for up to 100,000 messages a second, or `rate`: the pace is on but never the limit. */
export async function startLaneway(
  rig: Rig,
  dir: string,
  closing: Closing,
  options: {
    lanes?: number
    workers?: number
    rate?: number
    settings?: Record<string, string>
    profile?: string | undefined
    redis?: Shape
    /** A command to run Redis under. */
    beforeRedis?: readonly string[]
    /** Where its messages go; undefined: to the sink. */
    baseUrl?: string
    /** Another build than the one beside the bench. */
    build?: string
    /** What its templates are; utility if not given. */
    category?: keyof typeof TEMPLATES
    /** Where its processes find the Redis of this URL, when not there. */
    redisUrl?: (ofServer: string) => Promise<string>
    /** Whether the producer has a port for metrics. */
    hasMetricsPort?: boolean
  } = {},
): Promise<Laneway> {
  const { lanes = 1, workers = 1, rate = MAX_RATE, category = 'utility' } = options
  mkdirSync(dir, { recursive: true })
  const redis = await startRedis(dir, closing, options.redis, options.beforeRedis)
  const queues = openLaneQueues(redis.client)
  closing.add(() => queues.close())
  const { keys, senders, laneIds } = await seed(redis, {
    lanes,
    rate,
    templates: TEMPLATES[category],
    baseUrl: options.baseUrl ?? `http://127.0.0.1:${rig.sinkPort}`,
  })

  const port = await freePort()
  const settings = {
    PORT: String(port),
    REDIS_URL: (await options.redisUrl?.(redis.url)) ?? redis.url,
    LANEWAY_DATA_DIR: join(dir, 'data'),
    LANEWAY_SECRET_KEY: SECRET_KEY,
    LANEWAY_CLOUD_API_APP_SECRET: APP_SECRET,
    LANEWAY_LOG_LEVEL: 'error',
    ...options.settings,
  }
  const flags = options.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profile}`]
  const metricsPort = options.hasMetricsPort ? await freePort() : undefined
  const ofProducer = { ...settings, ...(metricsPort && { LANEWAY_METRICS_PORT: String(metricsPort) }) }
  const producer = startPart('start/producer.js', ofProducer, closing, flags, options.build)
  const startWorker = () => startPart('start/worker.js', settings, closing, flags, options.build)
  const worker = startWorker()
  const others = Array.from({ length: workers - 1 }, startWorker)
  await until('Laneway is ready', 30_000, async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok)

  const templates = TEMPLATES[category].map(({ name }) => name)
  const batch = (size: number, among = lanes): Traffic => ({
    kind: 'batch',
    path: '/messages/batch',
    keys,
    senders: senders.slice(0, among),
    templates,
    size,
  })
  return {
    name: 'Laneway',
    port,
    metricsPort,
    redis,
    producer,
    worker,
    others,
    queues,
    laneIds,
    acceptPids: [producer.pid, ...redis.pids],
    sendPids: [worker.pid, ...redis.pids],
    key: keys[0] ?? '',
    lookup: (ids) => ({ kind: 'lookup', path: '/chatappbusiness/getmessgageinfobyid', keys, ids }),
    traffic: { kind: 'message', path: '/chatappbusiness/send-templated-message', keys, senders, templates },
    batch,
    hold: async () => void (await Promise.all(laneIds.map((lane) => queues.pause(lane)))),
    release: async () => void (await Promise.all(laneIds.map((lane) => queues.resume(lane)))),
  }
}

async function seed(
  { client }: BenchRedis,
  options: { lanes: number; rate: number; templates: readonly object[]; baseUrl: string },
) {
  const { lanes, rate, templates, baseUrl } = options
  const account = await createAccount(client, 'bench')
  for (const template of templates) await importTemplate(client, account, templateSchema.parse(template))
  const keys: string[] = []
  for (let i = 0; i < KEYS; i += 1) {
    keys.push((await createCredential(client, account, ['messages:send', 'messages:read'], Date.now())).secret)
  }
  const seal = createSeal([SECRET_KEY])
  const senders: string[] = []
  const laneIds: number[] = []
  for (let i = 0; i < lanes; i += 1) {
    const number = `49301${String(i).padStart(6, '0')}`
    const lane = await addSender(client, {
      account,
      number,
      name: '',
      provider: 'cloud-api',
      baseUrl,
      sealedToken: seal.encrypt('token'),
      phoneNumberId: String(1_000 + i),
      rate,
      honoursIdempotency: false,
      isDefault: i === 0,
    })
    senders.push(number)
    laneIds.push(lane)
  }
  return { keys, senders, laneIds }
}
