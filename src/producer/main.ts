// The HTTP process: checks requests, queues work, answers lookups. It sends nothing itself.
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { writeKeyUses } from '../accounts/key-uses.ts'
import { writeWebhooks } from '../accounts/webhook-arrivals.ts'
import { openFiles } from '../files/open.ts'
import type { Config } from '../kernel/config.ts'
import type { Log } from '../kernel/log.ts'
import { useDataKeys } from '../kernel/sealed.ts'
import { secretKeysOf } from '../kernel/secret-keys.ts'
import { useOptOutSecrets } from '../people/opt-outs/erased.ts'
import { connectFailFast, readyOrLate } from '../redis/connect.ts'
import { withTimeout } from '../redis/errors.ts'
import { requireReplicas } from '../redis/replication.ts'
import { watchRedis } from '../telemetry/redis-watch.ts'
import { createTelemetry, type Telemetry } from '../telemetry/telemetry.ts'
import type { DemoSwitch } from './api/console/handlers.ts'
import { consolePages } from './api/console/pages.ts'
import { openApi } from './api/routes.ts'
import { DASHBOARD_PATH, FAMILIES } from './api/table.ts'
import { buildApp } from './app.ts'
import { createDashboard } from './dashboard.ts'
import { createGate } from './gate.ts'
import { createHttpServer } from './http-server.ts'

/** Requests in flight get this long to finish on SIGTERM. */
const DRAIN_MS = 10_000
/** How often a stop closes connections that have become idle; Node itself does so once. */
const IDLE_CHECK_MS = 50
/** How long a stop waits for Redis. */
const LAST_WORDS_MS = 1_500
/** How long a start waits for Redis before it listens without. */
const REDIS_LIMIT_MS = 2_000

/** The port is in use, or the address is not ours. The message is for the person at the terminal. */
export class ListenError extends Error {
  override name = 'ListenError'
}

/**
 * Starts a producer on `redisUrl` and returns once it answers requests. `demo` is there only where there is a demo. Tests lower
 * `connectionsMax`. Rejects with a ListenError.
 */
export async function startProducer(
  settings: Config & { connectionsMax?: number },
  redisUrl: string,
  log: Log,
  telemetry: Telemetry = createTelemetry(),
  demo?: DemoSwitch,
): Promise<{ url: string; close: () => Promise<void> }> {
  useDataKeys(settings.dataKeys)
  useOptOutSecrets(() => secretKeysOf(settings))
  const files = await openFiles(settings)
  const config = { ...settings, files }
  const redis = connectFailFast(redisUrl)
  redis.on('error', (error) => log.warn({ err: error }, 'redis.error'))
  requireReplicas(redis, config.redisMinReplicas)
  const counting = telemetry.start(redis, log)
  let stopping = false
  const deps = { redis, config, log: () => log, telemetry: () => telemetry, demo, isStopping: () => stopping }
  const api = await openApi(
    deps,
    FAMILIES.map(({ id }) => id),
  )
  const gate = createGate(redis, log, config)
  const dashboard = { path: DASHBOARD_PATH, handler: createDashboard(gate) }
  const app = buildApp({ gate, log, routes: api.routes, dashboard, pages: consolePages() })
  const server = createHttpServer(app, log, gate.addressOf, settings.connectionsMax)
  // Until then every request would be answered 503, which is right only if Redis is away for longer.
  await readyOrLate(redis, REDIS_LIMIT_MS)
  const watching = watchRedis(redis, log)
  await listen(server, config)
  const url = addressOf(server, config.host)
  log.info({ url }, 'producer.started')

  return {
    url,
    /**
     * Reports not ready for as long as a load balancer needs to notice; then accepts no more connections, lets requests in
     * flight finish and closes everything.
     */
    async close() {
      stopping = true
      // Kept-alive connections end with their next request.
      server.prependListener('request', (_request, response) => {
        response.shouldKeepAlive = false
      })
      await new Promise((resolve) => setTimeout(resolve, config.stopDelayMs))
      api.endStreams()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
      const limit = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
      await closed
      clearInterval(idle)
      clearTimeout(limit)
      await api.close()
      // Fails at once while Redis is away.
      watching.stop()
      await withTimeout(LAST_WORDS_MS, Promise.all([counting.stop(), writeWebhooks(redis), writeKeyUses(redis)])).catch(
        () => undefined,
      )
      files.close()
      redis.disconnect()
      log.info('producer.stopped')
    },
  }
}

function listen(server: Server, config: Pick<Config, 'host' | 'port'>): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const reason =
        cause.code === 'EADDRINUSE'
          ? `Port ${config.port} is taken: stop what uses it, or set PORT to another one (0 takes any free one).`
          : `Cannot listen on ${config.host}:${config.port} (${cause.code}): check HOST and PORT.`
      reject(new ListenError(reason, { cause }))
    })
    server.listen(config.port, config.host, resolve)
  })
}

function addressOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}
