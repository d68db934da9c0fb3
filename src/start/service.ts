// What `npm start` runs once its data folder, its address and its Redis are there: worker and producer, and outside of
// production the simulator with the demo data. The order in which it is stopped stands in main.ts.
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { startProducer } from '../producer/main.ts'
import { createTelemetry } from '../telemetry/telemetry.ts'
import { startWorker } from '../worker/main.ts'
import type { BannerContent } from './banner.ts'
import { cloudApiSecrets } from './cloud-api-secrets.ts'
import { openDemo, receiveDemoMessage } from './demo.ts'
import { demoAccounts } from './demo-data.ts'
import { removeDemoFile, writeDemoFile } from './demo-file.ts'
import { createDemoTraffic, type DemoTraffic } from './demo-traffic.ts'
import type { Lifecycle } from './lifecycle.ts'
import { startMetricsPort } from './metrics-port.ts'
import { startSimulatorChild } from './simulator-child.ts'
import { waitUntilReady } from './wait-until-ready.ts'

const CLOUD_WEBHOOK_PATH = '/webhooks/cloud-api'
const FOREIGN_REDIS =
  'This Redis holds accounts already and this data folder has none of their keys, so there is no demo.json; ' +
  'make keys with: npm run cli -- keys create --help'

/** Worker and producer alone, as in production: no simulator, no demo data. */
export async function startAlone(config: Config, redisUrl: string, life: Lifecycle, log: Log): Promise<BannerContent> {
  const baseUrl = await startService(config, redisUrl, life, log)
  await waitUntilReady(baseUrl)
  return { baseUrl, whyNoDemo: 'LANEWAY_ENV is production: no simulator, no demo data.' }
}

/** The demo data comes before the service, so that nobody ever meets half of it, and its received message after. */
export async function startWithSimulator(
  loaded: Config,
  redisUrl: string,
  life: Lifecycle,
  log: Log,
): Promise<BannerContent> {
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
