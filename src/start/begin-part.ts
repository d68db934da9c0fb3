// The start of one part from its settings on: the metrics port, the checks of Redis, then the part itself.
import type { Config } from '../kernel/config.ts'
import type { Log } from '../kernel/log.ts'
import { checkRedis } from '../redis/safety.ts'
import { createTelemetry, type Telemetry } from '../telemetry/telemetry.ts'
import { checkData } from './checks.ts'
import { type Lifecycle, StopRequested } from './lifecycle.ts'
import { startMetricsPort } from './metrics-port.ts'

/** A start that is under way when a stop begins gets this long to finish, so that it can be stopped in order. */
const START_GRACE_MS = 2_000

export type StartPart = (
  config: Config,
  redisUrl: string,
  log: Log,
  telemetry: Telemetry,
) => Promise<{ close(): Promise<void> }>

/** Starts everything that a part consists of, so that `life` can stop it. */
export async function beginPart(
  name: string,
  config: Config,
  redisUrl: string,
  life: Lifecycle,
  log: Log,
  startPart: StartPart,
): Promise<void> {
  const telemetry = createTelemetry({ ofProcess: config.metricsPort !== undefined })
  // First, so that health checks pass while the part waits for Redis.
  await life.start(
    'metrics',
    () => startMetricsPort(config, redisUrl, telemetry, log),
    (port) => ({ announce: port.announce, stop: port.close }),
  )
  const begin = async () => {
    await checkRedis(redisUrl, config.production, log)
    await checkData(config, redisUrl, log)
    return startPart(config, redisUrl, log, telemetry)
  }
  await life.start(
    name,
    () => unlessStopped(life, begin()),
    (part) => ({ stop: () => part.close() }),
  )
}

/** A part waits for a Redis that is away as long as it takes, but not when it is asked to stop. */
function unlessStopped<T>(life: Lifecycle, begun: Promise<T>): Promise<T> {
  const givenUp = new Promise<never>((_resolve, reject) => {
    life.onStop(() => setTimeout(() => reject(new StopRequested()), START_GRACE_MS))
  })
  return Promise.race([begun, givenUp])
}
