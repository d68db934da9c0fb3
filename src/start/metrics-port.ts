// The second port of a process: metrics and health without a key, for the monitoring system and the supervisor, of a worker
// too. It has a connection to Redis of its own, so that it answers while the part still waits for Redis.
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { Config } from '../kernel/config.ts'
import type { Log } from '../kernel/log.ts'
import { connectFailFast } from '../redis/connect.ts'
import { workersAlive } from '../redis/heartbeats.ts'
import { assertSameInstallation, OtherInstallationError } from '../redis/installation.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { listenError } from './ports.ts'

/** A client that is slower than this is cut off: nothing large is read or written here. */
const REQUEST_MS = 10_000
const CONNECTIONS_MAX = 100

/** Listens on LANEWAY_METRICS_PORT when there is one. Rejects with a StartError. */
export async function startMetricsPort(
  config: Pick<Config, 'metricsPort' | 'metricsHost'>,
  redisUrl: string,
  telemetry: Telemetry,
  log: Log,
): Promise<{ url: string | undefined; announce: () => void; close: () => void }> {
  const { metricsPort: port, metricsHost: host } = config
  if (port === undefined) return { url: undefined, announce: () => undefined, close: () => undefined }
  const redis = connectFailFast(redisUrl)
  // The part has said so already.
  redis.on('error', () => undefined)

  let stopping = false
  const answers: Readonly<Record<string, (response: ServerResponse) => Promise<void>>> = {
    '/metrics': async (response) => {
      const text = await telemetry.text(redis)
      response.writeHead(200, { 'Content-Type': telemetry.contentType }).end(text)
    },
    '/healthz': async (response) => answer(response, 200, { status: true, message: 'alive' }),
    '/readyz': async (response) => {
      if (stopping) return answer(response, 503, { status: false, message: 'This process stops.' })
      const workers = await assertSameInstallation(redis)
        .then(() => workersAlive(redis))
        .catch((error: unknown) => (error instanceof OtherInstallationError ? error : undefined))
      if (workers === undefined) return answer(response, 503, { status: false, message: 'Redis is away.' })
      if (workers instanceof Error) return answer(response, 503, { status: false, message: `${workers.message}.` })
      if (workers === 0) return answer(response, 503, { status: false, message: 'No worker is alive.' })
      answer(response, 200, { status: true, message: 'ready', data: { workers } })
    },
  }
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? ''
    const found = Object.hasOwn(answers, path) ? answers[path] : undefined
    if (found === undefined) return answer(response, 404, { status: false, message: `Only ${PATHS} are here.` })
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD')
      return answer(response, 405, { status: false, message: 'Method not allowed; use GET.' })
    }
    found(response).catch((error: unknown) => {
      log.warn({ err: error }, 'metrics.failed')
      answer(response, 500, { status: false, message: 'Something went wrong; see the log.' })
    })
  })
  server.maxConnections = CONNECTIONS_MAX
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    redis.disconnect()
    throw (
      listenError(error, { host, port, names: { host: 'LANEWAY_METRICS_HOST', port: 'LANEWAY_METRICS_PORT' } }) ?? error
    )
  }
  const address = server.address()
  const bound = address !== null && typeof address === 'object' ? address.port : port
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${bound}`
  log.info({ url }, 'metrics.started')
  return {
    url,
    /** From now on it answers that the part is not ready. */
    announce() {
      stopping = true
    },
    close() {
      server.close()
      server.closeAllConnections()
      redis.disconnect()
    },
  }
}

const PATHS = '/metrics, /healthz and /readyz'

function answer(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}
