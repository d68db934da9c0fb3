// What runs beside the service: the simulator before it, with the demo accounts, so that nobody ever meets half of them; the
// received message, the traffic switch and demo.json after it.
import type { Config } from '../../../src/kernel/config.ts'
import type { Log } from '../../../src/kernel/log.ts'
import type { BannerLines, BegunCompanion } from '../../../src/start/everything.ts'
import type { Lifecycle } from '../../../src/start/lifecycle.ts'
import { openDemo, receiveDemoMessage } from './accounts.ts'
import { bannerLines } from './banner.ts'
import { demoAccounts } from './data.ts'
import { cloudApiSecrets, removeDemoFile, type Urls, writeDemoFile } from './record.ts'
import { startSimulatorChild } from './simulator.ts'
import { createDemoTraffic } from './traffic.ts'

const CLOUD_WEBHOOK_PATH = '/webhooks/cloud-api'
const FOREIGN_REDIS: BannerLines = {
  keys: [],
  tools: [],
  rest: [
    'This Redis holds accounts already and this data folder has none of their keys, so there is no demo.json; ' +
      'make keys with: npm run cli -- keys create --help',
  ],
}

/** Starts the simulator and opens the demo accounts; `finish` does the rest once the service answers. */
export async function beginDemo(loaded: Config, redisUrl: string, life: Lifecycle, log: Log): Promise<BegunCompanion> {
  const config = { ...loaded, cloudApi: cloudApiSecrets(loaded) }
  const simulator = await life.start(
    'simulator',
    () => startSimulatorChild(config.dataDir, config.cloudApi.appSecret, log),
    (child) => ({ stop: child.stop }),
  )
  const demo = await openDemo(config, redisUrl, simulator.url, log)
  const traffic = createDemoTraffic(log)

  async function finish(baseUrl: string): Promise<BannerLines> {
    await simulator.sendWebhooksTo(`${baseUrl}${CLOUD_WEBHOOK_PATH}`)
    if (demo === undefined) return FOREIGN_REDIS
    const urls: Urls = { base: baseUrl, redis: redisUrl, simulator: simulator.url }
    const record = await receiveDemoMessage(config, demo, urls)
    const { sender, api_key: apiKey } = record.main
    const campaignSender = demoAccounts.main.senders.find(({ isDefault }) => !isDefault)?.number ?? sender
    traffic.aim({ baseUrl, simulatorUrl: simulator.url, apiKey, campaignSender })
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
    return bannerLines(record, urls, file)
  }
  return { config, demo: traffic, finish }
}
