// The HTTP process: checks requests, queues work, answers lookups. It sends nothing itself.
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSeal, secretKeysOf } from '../accounts/seal.ts'
import { openCampaignQueue } from '../campaigns/store/queue.ts'
import type { Config } from '../config.ts'
import { openFiles } from '../files/open.ts'
import type { Log } from '../log.ts'
import { openRequeueQueue } from '../messages/requeue/queue.ts'
import { useDataKeys } from '../messages/sealed.ts'
import { openErasureQueue } from '../people/erasures.ts'
import { useOptOutSecrets } from '../people/opt-outs/store/erased.ts'
import { createTombstones } from '../people/tombstones.ts'
import { createOpaqueIds } from '../providers/cloud-api.ts'
import { createMediaSource } from '../providers/cloud-media.ts'
import { openLaneQueues } from '../queue/lane/queues.ts'
import { connectFailFast, readyOrLate } from '../redis/connect.ts'
import { requireReplicas } from '../redis/replication.ts'
import { createSnapshots } from '../telemetry/live/snapshots.ts'
import { createTelemetry, type Telemetry } from '../telemetry/telemetry.ts'
import { accountRoutes } from './api/accounts/handlers.ts'
import { activityRoutes } from './api/activity/handlers.ts'
import { campaignRoutes } from './api/campaigns/handlers.ts'
import { consoleDemoRoutes, consoleLiveRoutes, consoleSessionRoutes, type DemoSwitch } from './api/console/handlers.ts'
import { consolePages } from './api/console/pages.ts'
import { createSnapshotStreams } from './api/console/snapshot-streams.ts'
import { contactRoutes, tagRoutes } from './api/contacts/handlers.ts'
import { conversationRoutes } from './api/conversations/handlers.ts'
import { eventRoutes } from './api/events/handlers.ts'
import { openBulkMoves } from './api/gallery/bulk-moves.ts'
import { galleryRoutes } from './api/gallery/handlers.ts'
import { healthRoutes } from './api/health/handlers.ts'
import { keyRoutes } from './api/keys/handlers.ts'
import { laneRoutes } from './api/lanes/handlers.ts'
import { limitRoutes } from './api/limits/handlers.ts'
import { lookupRoutes } from './api/lookups/handlers.ts'
import { messageRoutes } from './api/messages/handlers.ts'
import { metricsRoutes } from './api/metrics/handlers.ts'
import { optOutRoutes } from './api/opt-outs/handlers.ts'
import { peopleRoutes } from './api/people/handlers.ts'
import { referenceRoutes } from './api/reference/handlers.ts'
import { senderRoutes } from './api/senders/handlers.ts'
import { sendingRoutes } from './api/sending/handlers.ts'
import { DASHBOARD_PATH } from './api/table.ts'
import { templateRoutes } from './api/templates/handlers.ts'
import { webhookRoutes, webhookSecretRoutes } from './api/webhooks/handlers.ts'
import { buildApp } from './app.ts'
import type { Route } from './bind.ts'
import { createDashboard } from './dashboard.ts'
import { createGate } from './gate.ts'
import { createHttpServer } from './http-server.ts'

/** Requests in flight get this long to finish on SIGTERM. */
const DRAIN_MS = 10_000
/** How often a stop looks for connections that have become idle; Node itself looks once. */
const IDLE_CHECK_MS = 50
/** How long a start waits for Redis before it listens without. */
const REDIS_LIMIT_MS = 2_000

/** The port is in use, or the address is not ours. The message is for the person at the terminal. */
export class ListenError extends Error {
  override name = 'ListenError'
}

/**
 * Starts a producer on `redisUrl` and returns once it answers requests. `demo` is there only where there is a demo. Rejects
 * with a ListenError.
 */
export async function startProducer(
  settings: Config,
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
  const queues = openLaneQueues(redis, config.retentionMs)
  const moves = openBulkMoves(redis)
  const campaigns = openCampaignQueue(redis)
  const requeues = openRequeueQueue(redis)
  const erasures = openErasureQueue(redis)
  const secretKeys = secretKeysOf(config)
  const [opaqueIds, seal] = [createOpaqueIds(secretKeys), createSeal(secretKeys)]
  const media = createMediaSource(config.cloudApiVersion)
  const snapshots = createSnapshots(redis)
  const streams = createSnapshotStreams({ take: (whose) => snapshots.take(whose), log })
  let stopping = false
  // In the order of api/table.ts.
  const routes: Route[] = [
    ...sendingRoutes({ redis, config, queues, log }),
    ...lookupRoutes({ redis, config }),
    ...messageRoutes({ redis, config, queues, requeues, seal, media }),
    ...campaignRoutes({ redis, config, campaigns }),
    ...tagRoutes({ redis }),
    ...contactRoutes({ redis, config }),
    ...optOutRoutes({ redis }),
    ...conversationRoutes({ redis }),
    ...galleryRoutes({ redis, config, moves }),
    ...eventRoutes({ redis, config, seal }),
    ...webhookRoutes({ redis, config, log, opaqueIds, seal }),
    ...laneRoutes({ redis, queues }),
    ...accountRoutes({ redis, queues, config }),
    ...limitRoutes({ redis, config }),
    ...keyRoutes({ redis }),
    ...senderRoutes({ redis, queues, seal, production: config.production, config }),
    ...templateRoutes({ redis }),
    ...webhookSecretRoutes({ redis, seal }),
    ...activityRoutes({ redis }),
    ...peopleRoutes({ redis, config, erasures, tombstones: createTombstones(redis, secretKeys) }),
    ...consoleSessionRoutes({ redis }),
    ...consoleLiveRoutes({ redis, streams }),
    ...consoleDemoRoutes({ demo }),
    ...metricsRoutes({ redis, telemetry }),
    ...healthRoutes({ redis, isStopping: () => stopping }),
    ...referenceRoutes(),
  ]
  const gate = createGate(redis, log, config)
  const dashboard = { path: DASHBOARD_PATH, handler: createDashboard(gate) }
  const app = buildApp({ gate, log, routes, dashboard, pages: consolePages() })
  const server = createHttpServer(app, log, gate.addressOf)
  // Before that every request would be answered 503; without Redis that is the right answer.
  await readyOrLate(redis, REDIS_LIMIT_MS)
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
      // Connections that are kept end with their next request, in order.
      server.prependListener('request', (_request, response) => {
        response.shouldKeepAlive = false
      })
      await new Promise((resolve) => setTimeout(resolve, config.stopDelayMs))
      // They would keep their connections open for ever.
      streams.close()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
      const limit = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
      await closed
      clearInterval(idle)
      clearTimeout(limit)
      await media.close()
      await moves.close()
      await campaigns.close()
      await requeues.close()
      await erasures.close()
      await queues.close()
      // Fails at once while Redis is away.
      await counting.stop().catch(() => undefined)
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
