// The routes of all features with their handlers, and the queues and caches that they share.

import { openCampaignQueue } from '../../campaigns/store/queue.ts'
import { openErasureQueue } from '../../erase/erasures.ts'
import type { FileStore } from '../../files/store.ts'
import type { Config } from '../../kernel/config.ts'
import type { Log } from '../../kernel/log.ts'
import { createSeal } from '../../kernel/seal.ts'
import { secretKeysOf } from '../../kernel/secret-keys.ts'
import { openLaneQueues } from '../../lanes/queues.ts'
import { openRequeueQueue } from '../../messages/requeue/jobs.ts'
import { createTombstones } from '../../people/tombstones.ts'
import { createOpaqueIds } from '../../providers/cloud-api.ts'
import { createMediaSource } from '../../providers/cloud-media.ts'
import { createReadReceipts } from '../../providers/cloud-read.ts'
import { createGraphApi } from '../../providers/graph-api.ts'
import type { Redis } from '../../redis/connect.ts'
import { createSnapshots } from '../../telemetry/live/snapshots.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { Route } from '../bind.ts'
import { accountRoutes, limitRoutes } from './accounts/handlers.ts'
import { activityRoutes, noticeRoutes } from './activity/handlers.ts'
import { campaignRoutes } from './campaigns/handlers.ts'
import { consoleDemoRoutes, consoleLiveRoutes, consoleSessionRoutes, type DemoSwitch } from './console/handlers.ts'
import { createSnapshotStreams } from './console/snapshot-streams.ts'
import { contactRoutes, tagRoutes } from './contacts/handlers.ts'
import { conversationRoutes } from './conversations/handlers.ts'
import { eventRoutes } from './events/handlers.ts'
import { createAskAccount } from './flows/ask-account.ts'
import { flowRoutes, flowSettingsRoutes } from './flows/handlers.ts'
import { galleryRoutes } from './gallery/handlers.ts'
import { openBulkMoves } from './gallery/moves.ts'
import { healthRoutes } from './health/handlers.ts'
import { keyRoutes } from './keys/handlers.ts'
import { laneRoutes } from './lanes/handlers.ts'
import { lookupRoutes, messageRoutes } from './messages/handlers.ts'
import { optOutRoutes } from './opt-outs/handlers.ts'
import { peopleRoutes } from './people/handlers.ts'
import { portfolioRoutes } from './portfolios/handlers.ts'
import { referenceRoutes } from './reference/handlers.ts'
import { senderRoutes } from './senders/handlers.ts'
import { sendingRoutes } from './sending/handlers.ts'
import { templateRoutes } from './templates/handlers.ts'
import { webhookRoutes, webhookSecretRoutes } from './webhooks/handlers.ts'

interface ApiDeps {
  redis: Redis
  config: Config & { files: FileStore }
  log: Log
  telemetry: Telemetry
  demo: DemoSwitch | undefined
  isStopping: () => boolean
}

/** Opens the API on one connection. */
export function openApi({ redis, config, log, telemetry, demo, isStopping }: ApiDeps) {
  const secretKeys = secretKeysOf(config)
  const [opaqueIds, seal] = [createOpaqueIds(secretKeys), createSeal(secretKeys)]
  const tombstones = createTombstones(redis, secretKeys)
  const media = createMediaSource(config.cloudApiVersion)
  const graph = createGraphApi(config.cloudApiVersion)
  const receipts = createReadReceipts(config.cloudApiVersion)
  const asking = createAskAccount(config.events.allowPrivate)
  const snapshots = createSnapshots(redis)
  const streams = createSnapshotStreams({ take: (scope) => snapshots.take(scope), log })
  const queues = openLaneQueues(redis, config.retentionMs)
  const moves = openBulkMoves(redis)
  const campaigns = openCampaignQueue(redis)
  const requeues = openRequeueQueue(redis)
  const erasures = openErasureQueue(redis)
  const deps = { redis, config, log, queues, seal }
  // In the order of table.ts.
  const routes: Route[] = [
    ...sendingRoutes(deps),
    ...lookupRoutes(deps),
    ...messageRoutes({ ...deps, requeues, media, receipts, files: config.files }),
    ...campaignRoutes({ ...deps, campaigns }),
    ...tagRoutes(deps),
    ...contactRoutes(deps),
    ...optOutRoutes(deps),
    ...conversationRoutes(deps),
    ...galleryRoutes({ ...deps, moves }),
    ...eventRoutes(deps),
    ...webhookRoutes({ ...deps, opaqueIds, tombstones }),
    ...flowRoutes({ ...deps, asking }),
    ...laneRoutes(deps),
    ...accountRoutes(deps),
    ...limitRoutes(deps),
    ...keyRoutes(deps),
    ...senderRoutes({ ...deps, graph, production: config.production, appSecret: config.cloudApi.appSecret }),
    ...portfolioRoutes(deps),
    ...templateRoutes(deps),
    ...webhookSecretRoutes(deps),
    ...flowSettingsRoutes(deps),
    ...activityRoutes(deps),
    ...noticeRoutes(deps),
    ...peopleRoutes({ ...deps, erasures, tombstones }),
    ...consoleSessionRoutes(deps),
    ...consoleLiveRoutes({ ...deps, streams }),
    ...consoleDemoRoutes({ demo }),
    ...healthRoutes({ ...deps, telemetry, isStopping }),
    ...referenceRoutes(),
  ]

  return {
    routes,
    /** Ends the live pages, which would keep their connections open for ever. */
    endStreams: () => streams.close(),
    async close(): Promise<void> {
      for (const each of [media, receipts, asking, graph, moves, campaigns, requeues, erasures, queues])
        await each.close()
    },
  }
}
