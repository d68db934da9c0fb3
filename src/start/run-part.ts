// One part as a process of its own, any number of each: `npm run producer`, `npm run worker`, docker compose.
import { type Config, ConfigError, loadConfig, startedByNpm } from '../kernel/config.ts'
import { createLog, type Log } from '../kernel/log.ts'
import { checkRedis } from '../redis/safety.ts'
import { createTelemetry, type Telemetry } from '../telemetry/telemetry.ts'
import { checkData, startupErrorMessage, warnOfNode, warnOfUnknownSettings } from './checks.ts'
import { openDataFolder } from './data-folder.ts'
import { createLifecycle, type Lifecycle, StopRequested } from './lifecycle.ts'
import { startMetricsPort } from './ports.ts'

/** A start that is under way when a stop begins gets this long to finish, so that it can be stopped in order. */
const START_GRACE_MS = 2_000

type StartPart = (
  config: Config,
  redisUrl: string,
  log: Log,
  telemetry: Telemetry,
) => Promise<{ close(): Promise<void> }>

/** Runs the part until a signal ends it. Prints one sentence and exits with 1 when it cannot start. */
export async function runPart(name: 'producer' | 'worker', startPart: StartPart): Promise<void> {
  try {
    const config = loadConfig()
    const { redisUrl } = config
    if (redisUrl === undefined) {
      throw new ConfigError(`REDIS_URL must be set for npm run ${name}; npm start runs a Redis of its own.`)
    }
    const log = createLog(config, name)
    warnOfUnknownSettings(log)
    warnOfNode(log)
    const life = createLifecycle(log, startedByNpm() ? process.ppid : 0)
    const settings = { ...config, dataDir: openDataFolder(config.dataDir) }
    const telemetry = createTelemetry({ ofProcess: config.metricsPort !== undefined })
    // First, so that health checks pass while the part waits for Redis.
    await life.start(
      'metrics',
      () => startMetricsPort(config, redisUrl, telemetry, log),
      (port) => ({ announce: port.announce, stop: port.close }),
    )
    const begin = async () => {
      await checkRedis(redisUrl, config.production, log)
      await checkData(config, redisUrl)
      return startPart(settings, redisUrl, log, telemetry)
    }
    await life.start(
      name,
      () => unlessStopped(life, begin()),
      (part) => ({ stop: () => part.close() }),
    )
  } catch (error) {
    if (error instanceof StopRequested) return
    const sentence = startupErrorMessage(error)
    if (sentence === undefined) throw error
    process.stderr.write(`${sentence}\n`)
    process.exit(1)
  }
}

/** A part waits for a Redis that is away as long as it takes, but not when it is asked to stop. */
function unlessStopped<T>(life: Lifecycle, begun: Promise<T>): Promise<T> {
  const givenUp = new Promise<never>((_resolve, reject) => {
    life.onStop(() => setTimeout(() => reject(new StopRequested()), START_GRACE_MS))
  })
  return Promise.race([begun, givenUp])
}
