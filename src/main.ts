// Everything in one command: what `npm start` runs.
//
//   this process      producer and worker
//   its children      the private Redis (unless REDIS_URL is set), the simulator of the chat product (not in production)
//
// Parts are started in this order and stopped in reverse: data folder, Redis, simulator, worker, producer. Killed on
// any line, the next start finds what was left behind, ends or takes over it, and goes on with the same data.
import type { Config } from './config.ts'
import { loadConfig, startedByNpm } from './config.ts'
import type { Log } from './log.ts'
import { createLog } from './log.ts'
import { startProducer } from './producer/main.ts'
import { checkRedis } from './redis/safety.ts'
import type { BannerContent } from './start/banner.ts'
import { banner } from './start/banner.ts'
import { cloudApiSecrets } from './start/cloud-api-secrets.ts'
import { lockDataDir } from './start/data-dir-lock.ts'
import { openDataFolder } from './start/data-folder.ts'
import { openDemo, receiveDemoMessage } from './start/demo.ts'
import { demoAccounts } from './start/demo-data.ts'
import { removeDemoFile, writeDemoFile } from './start/demo-file.ts'
import { createDemoTraffic, type DemoTraffic } from './start/demo-traffic.ts'
import { startEmbeddedRedis } from './start/embedded-redis.ts'
import type { Lifecycle } from './start/lifecycle.ts'
import { createLifecycle, StopRequested } from './start/lifecycle.ts'
import { startMetricsPort } from './start/metrics-port.ts'
import { pingRedis } from './start/ping-redis.ts'
import { assertCanListen } from './start/ports.ts'
import { checkSenders } from './start/production-senders.ts'
import { restartProcess } from './start/restart.ts'
import { startSimulatorChild } from './start/simulator-child.ts'
import { startupErrorMessage } from './start/startup-error.ts'
import { warnOfUnknownSettings } from './start/unknown-settings.ts'
import { waitUntilReady } from './start/wait-until-ready.ts'
import { createTelemetry } from './telemetry/telemetry.ts'
import { startWorker } from './worker/main.ts'

const CLOUD_WEBHOOK_PATH = '/webhooks/cloud-api'
const FOREIGN_REDIS =
  'This Redis holds accounts already and this data folder has none of their keys, so there is no demo.json; ' +
  'make keys with: npm run cli -- keys create --help'

const say = (line: string): void => void process.stderr.write(`${line}\n`)

async function main(): Promise<void> {
  let life: Lifecycle | undefined
  try {
    const loaded = loadConfig()
    const config = { ...loaded, dataDir: openDataFolder(loaded.dataDir) }
    const log = createLog(config, 'laneway')
    warnOfUnknownSettings(log)
    const parent = startedByNpm() ? process.ppid : 0
    life = createLifecycle(log, parent, () => restartProcess(parent, say))
    await startAll(config, parent, life, log)
  } catch (error) {
    if (error instanceof StopRequested) return
    const sentence = startupErrorMessage(error)
    say(sentence ?? `Laneway could not start: ${error instanceof Error ? error.stack : String(error)}`)
    if (life === undefined) process.exit(1)
    await life.stop('the start failed', 1)
  }
}

async function startAll(config: Config, parent: number, life: Lifecycle, log: Log): Promise<void> {
  await life.start(
    'data folder',
    () => lockDataDir(config.dataDir, parent, say),
    (lock) => ({ announce: lock.markStopping, stop: lock.release, abandon: lock.release }),
  )
  removeDemoFile(config.dataDir)
  await assertCanListen(config.host, config.port)
  const redisUrl = await openRedis(config, life, log)
  await checkSenders(config, redisUrl)
  const facts = await (config.production ? startAlone : startWithSimulator)(config, redisUrl, life, log)
  process.stdout.write(banner(facts, process.stdout.isTTY && process.stdout.hasColors()))
}

async function openRedis(config: Config, life: Lifecycle, log: Log): Promise<string> {
  if (config.redisUrl !== undefined) {
    await pingRedis(config.redisUrl)
    await checkRedis(config.redisUrl, config.production, log)
    return config.redisUrl
  }
  const redis = await life.start(
    'redis',
    () => startEmbeddedRedis(config.dataDir, log),
    (server) => ({ stop: server.stop, abandon: server.abandon }),
  )
  return redis.url
}

async function startAlone(config: Config, redisUrl: string, life: Lifecycle, log: Log): Promise<BannerContent> {
  const baseUrl = await startService(config, redisUrl, life, log)
  await waitUntilReady(baseUrl)
  return { baseUrl, whyNoDemo: 'LANEWAY_ENV is production: no simulator, no demo data.' }
}

/** The demo data comes before the service, so that nobody ever meets half of it, and its received message after. */
async function startWithSimulator(loaded: Config, redisUrl: string, life: Lifecycle, log: Log): Promise<BannerContent> {
  const config = { ...loaded, cloudApi: cloudApiSecrets(loaded) }
  const simulator = await life.start(
    'simulator',
    () => startSimulatorChild(config.dataDir, config.cloudApi.appSecret, log),
    (child) => ({ stop: child.stop }),
  )
  const demo = await openDemo(config, redisUrl, simulator.url, log)
  const traffic = createDemoTraffic(log)
  const baseUrl = await startService(config, redisUrl, life, log, traffic)
  await simulator.sendWebhooksTo(`${baseUrl}${CLOUD_WEBHOOK_PATH}`)
  await waitUntilReady(baseUrl)
  if (demo === undefined) return { baseUrl, whyNoDemo: FOREIGN_REDIS }
  const urls = { base: baseUrl, redis: redisUrl, simulator: simulator.url }
  const record = await receiveDemoMessage(config, demo, urls)
  traffic.aim({
    ...{ baseUrl, simulatorUrl: simulator.url, apiKey: record.main.api_key },
    campaignSender: demoAccounts.main.senders.find(({ isDefault }) => !isDefault)?.number ?? record.main.sender,
  })
  const file = await life.start(
    'demo.json',
    async () => writeDemoFile(config.dataDir, urls, record),
    () => ({
      announce: () => {
        removeDemoFile(config.dataDir)
        traffic.stop()
      },
      stop: () => undefined,
    }),
  )
  return { baseUrl, demo: { record, file, simulatorUrl: simulator.url } }
}

/** Worker and producer, which share one telemetry. They stop together, because each may take most of the 20 s that a stop has. */
async function startService(
  config: Config,
  redisUrl: string,
  life: Lifecycle,
  log: Log,
  traffic?: DemoTraffic,
): Promise<string> {
  const telemetry = createTelemetry({ ofProcess: config.metricsPort !== undefined })
  await life.start(
    'metrics',
    () => startMetricsPort(config, redisUrl, telemetry, log),
    (port) => ({ announce: port.announce, stop: port.close }),
  )
  const stopWorker = await life.start(
    'worker',
    async () => once((await startWorker(config, redisUrl, log, telemetry)).close),
    (stop) => ({ stop }),
  )
  const producer = await life.start(
    'producer',
    () => startProducer(config, redisUrl, log, telemetry, traffic),
    (part) => ({ stop: () => Promise.all([part.close(), stopWorker()]) }),
  )
  return producer.url
}

/** Does the work at the first call; every call returns its end. */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= work()
    return done
  }
}

await main()
