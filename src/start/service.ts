// What `npm start` starts once its folder and port are its own: Redis, unless the settings name one, then worker and producer.
import type { Config } from '../kernel/config.ts'
import type { Log } from '../kernel/log.ts'
import type { DemoSwitch } from '../producer/api/console/handlers.ts'
import { checkRedis } from '../redis/safety.ts'
import { checkData, pingRedis } from './checks.ts'
import { startEmbeddedRedis } from './embedded-redis.ts'
import type { Lifecycle } from './lifecycle.ts'
import { startMetricsPort } from './metrics-port.ts'

/** The address of the Redis to use, which was checked and is up to date: that of the settings, else a private one, started here. */
export async function openRedis(config: Config, life: Lifecycle, log: Log): Promise<string> {
  const redisUrl = config.redisUrl ?? (await startRedis(config, life, log))
  if (config.redisUrl !== undefined) {
    await pingRedis(redisUrl)
    await checkRedis(redisUrl, config.production, log)
  }
  await checkData(config, redisUrl, log)
  return redisUrl
}

async function startRedis(config: Config, life: Lifecycle, log: Log): Promise<string> {
  const { url } = await life.start(
    'redis',
    () => startEmbeddedRedis(config.dataDir, log),
    (server) => ({ stop: server.stop, abandon: server.abandon }),
  )
  return url
}

/**
 * Worker and producer, which share one telemetry; returns the producer's address. They stop together, because each may take
 * most of the 20 s that a stop has.
 */
export async function startService(
  config: Config,
  redisUrl: string,
  life: Lifecycle,
  log: Log,
  demo?: DemoSwitch,
): Promise<string> {
  // Loaded only now: nearly all of the time that a start takes goes there, and a Redis that is away or unsafe refuses it before.
  const [{ createTelemetry }, { startWorker }, { startProducer }] = await Promise.all([
    import('../telemetry/telemetry.ts'),
    import('../worker/main.ts'),
    import('../producer/main.ts'),
  ])
  const telemetry = createTelemetry({ ofProcess: config.metricsPort !== undefined })
  await life.start(
    'metrics',
    () => startMetricsPort(config, redisUrl, telemetry, log),
    (port) => ({ announce: port.announce, stop: port.close }),
  )
  let stopped: Promise<void> | undefined
  const stopWorker = await life.start(
    'worker',
    async () => {
      const { close } = await startWorker(config, redisUrl, log, telemetry)
      return () => {
        stopped ??= close()
        return stopped
      }
    },
    (stop) => ({ stop }),
  )
  const producer = await life.start(
    'producer',
    () => startProducer(config, redisUrl, log, telemetry, demo),
    (part) => ({ stop: () => Promise.all([part.close(), stopWorker()]) }),
  )
  return producer.url
}
