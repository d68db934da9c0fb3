// The handlers of each family of routes, loaded when the family is asked for, and what they share, opened when the first of them
// needs it: a producer asks for all families, a command line for one, and BullMQ alone takes longer to load than most handlers.
import type { FileStore } from '../../files/store.ts'
import type { Config } from '../../kernel/config.ts'
import type { Log } from '../../kernel/log.ts'
import { createSeal } from '../../kernel/seal.ts'
import { secretKeysOf } from '../../kernel/secret-keys.ts'
import type { Redis } from '../../redis/connect.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { Route } from '../bind.ts'
import type { DemoSwitch } from './console/handlers.ts'
import type { SnapshotStreams } from './console/snapshot-streams.ts'
// Only the type: the table loads the schemas of all families.
import type { FamilyId } from './table.ts'

interface ApiDeps {
  redis: Redis
  config: Config & { files: FileStore }
  /** Few families log, and few show metrics: a command line loads neither without need. */
  log: () => Log | Promise<Log>
  telemetry: () => Telemetry | Promise<Telemetry>
  demo: DemoSwitch | undefined
  isStopping: () => boolean
}

/** The routes of a family, from what all families share. */
type Load = (shared: Shared) => Promise<Route[]>

const HANDLERS: Readonly<Record<FamilyId, Load>> = {
  async sending({ deps, queues }) {
    const { sendingRoutes } = await import('./sending/handlers.ts')
    return sendingRoutes({ ...deps, log: await deps.log(), queues: await queues() })
  },
  async lookups({ deps }) {
    const { lookupRoutes } = await import('./messages/handlers.ts')
    return lookupRoutes(deps)
  },
  async messages({ deps, queues, requeues, media, receipts, seal }) {
    const { messageRoutes } = await import('./messages/handlers.ts')
    return messageRoutes({
      ...{ ...deps, seal: seal(), files: deps.config.files },
      ...{ queues: await queues(), requeues: await requeues(), media: await media(), receipts: await receipts() },
    })
  },
  async campaigns({ deps, campaigns }) {
    const { campaignRoutes } = await import('./campaigns/handlers.ts')
    return campaignRoutes({ ...deps, campaigns: await campaigns() })
  },
  async contacts({ deps }) {
    const { tagRoutes } = await import('./contacts/handlers.ts')
    return tagRoutes(deps)
  },
  async contactBook({ deps }) {
    const { contactRoutes } = await import('./contacts/handlers.ts')
    return contactRoutes(deps)
  },
  async optOuts({ deps }) {
    const { optOutRoutes } = await import('./opt-outs/handlers.ts')
    return optOutRoutes(deps)
  },
  async conversations({ deps }) {
    const { conversationRoutes } = await import('./conversations/handlers.ts')
    return conversationRoutes(deps)
  },
  async galleryFolders({ deps }) {
    const { folderRoutes } = await import('./gallery/handlers.ts')
    return folderRoutes(deps)
  },
  async galleryFiles({ deps, moves }) {
    const { fileRoutes } = await import('./gallery/handlers.ts')
    return fileRoutes({ ...deps, moves: await moves() })
  },
  async events({ deps, seal }) {
    const { eventRoutes } = await import('./events/handlers.ts')
    return eventRoutes({ ...deps, seal: seal() })
  },
  async webhooks({ deps, queues, seal, opaqueIds, tombstones }) {
    const { webhookRoutes } = await import('./webhooks/handlers.ts')
    return webhookRoutes({
      ...{ ...deps, log: await deps.log(), seal: seal(), queues: await queues() },
      ...{ opaqueIds: await opaqueIds(), tombstones: await tombstones() },
    })
  },
  async flows({ deps, seal, asking }) {
    const { flowRoutes } = await import('./flows/handlers.ts')
    return flowRoutes({ ...deps, log: await deps.log(), seal: seal(), asking: await asking() })
  },
  async admin({ deps, queues }) {
    const { laneRoutes } = await import('./lanes/handlers.ts')
    return laneRoutes({ ...deps, queues: await queues() })
  },
  async accounts({ deps, queues }) {
    const { accountRoutes } = await import('./accounts/handlers.ts')
    return accountRoutes({ ...deps, queues })
  },
  async limits({ deps }) {
    const { limitRoutes } = await import('./accounts/handlers.ts')
    return limitRoutes(deps)
  },
  async keys({ deps }) {
    const { keyRoutes } = await import('./keys/handlers.ts')
    return keyRoutes(deps)
  },
  async senders({ deps, queues, seal, graph }) {
    const { senderRoutes } = await import('./senders/handlers.ts')
    const { production, cloudApi } = deps.config
    return senderRoutes({
      ...{ ...deps, seal: seal(), production, appSecret: cloudApi.appSecret },
      ...{ queues: await queues(), graph: await graph() },
    })
  },
  async portfolios({ deps }) {
    const { portfolioRoutes } = await import('./portfolios/handlers.ts')
    return portfolioRoutes(deps)
  },
  async templates({ deps }) {
    const { templateRoutes } = await import('./templates/handlers.ts')
    return templateRoutes(deps)
  },
  async webhookSecrets({ deps, seal }) {
    const { webhookSecretRoutes } = await import('./webhooks/handlers.ts')
    return webhookSecretRoutes({ ...deps, seal: seal() })
  },
  async flowSettings({ deps, seal }) {
    const { flowSettingsRoutes } = await import('./flows/handlers.ts')
    return flowSettingsRoutes({ ...deps, seal: seal() })
  },
  async activity({ deps }) {
    const { activityRoutes } = await import('./activity/handlers.ts')
    return activityRoutes(deps)
  },
  async notices({ deps }) {
    const { noticeRoutes } = await import('./activity/handlers.ts')
    return noticeRoutes(deps)
  },
  async people({ deps, erasures, tombstones }) {
    const { peopleRoutes } = await import('./people/handlers.ts')
    return peopleRoutes({ ...deps, erasures: await erasures(), tombstones: await tombstones() })
  },
  async consoleSession({ deps }) {
    const { consoleSessionRoutes } = await import('./console/handlers.ts')
    return consoleSessionRoutes(deps)
  },
  async consoleLive({ deps, streams }) {
    const { consoleLiveRoutes } = await import('./console/handlers.ts')
    return consoleLiveRoutes({ ...deps, streams: await streams() })
  },
  async consoleDemo({ deps }) {
    const { consoleDemoRoutes } = await import('./console/handlers.ts')
    return consoleDemoRoutes(deps)
  },
  async metrics({ deps }) {
    const { metricRoutes } = await import('./health/handlers.ts')
    return metricRoutes({ ...deps, telemetry: await deps.telemetry() })
  },
  async health({ deps }) {
    const { healthRoutes } = await import('./health/handlers.ts')
    return healthRoutes(deps)
  },
  async description() {
    const { referenceRoutes } = await import('./reference/handlers.ts')
    return referenceRoutes()
  },
}

type Shared = ReturnType<typeof openShared>['shared']

/** What families share, each opened once, by the first that asks for it. */
function openShared(deps: ApiDeps) {
  const { redis, config } = deps
  const opened: Promise<{ close(): Promise<unknown> }>[] = []
  const closed = <T extends { close(): Promise<unknown> }>(open: () => Promise<T>) =>
    once(() => {
      const opening = open()
      opened.push(opening)
      return opening
    })
  const secretKeys = once(() => secretKeysOf(config))
  let live: SnapshotStreams | undefined
  const shared = {
    deps,
    seal: once(() => createSeal(secretKeys)),
    opaqueIds: once(async () => (await import('../../providers/cloud-api.ts')).createOpaqueIds(secretKeys())),
    tombstones: once(async () => (await import('../../people/tombstones.ts')).createTombstones(redis, secretKeys())),
    streams: once(async () => {
      const [{ createSnapshots }, { createSnapshotStreams }] = await Promise.all([
        import('../../telemetry/live/snapshots.ts'),
        import('./console/snapshot-streams.ts'),
      ])
      const snapshots = createSnapshots(redis)
      live = createSnapshotStreams({ take: (scope) => snapshots.take(scope), log: await deps.log() })
      return live
    }),
    media: closed(async () =>
      (await import('../../providers/cloud-media.ts')).createMediaSource(config.cloudApiVersion),
    ),
    receipts: closed(async () =>
      (await import('../../providers/cloud-read.ts')).createReadReceipts(config.cloudApiVersion),
    ),
    asking: closed(async () => (await import('./flows/ask-account.ts')).createAskAccount(config.events.allowPrivate)),
    graph: closed(async () => (await import('../../providers/graph-api.ts')).createGraphApi(config.cloudApiVersion)),
    moves: closed(async () => (await import('./gallery/moves.ts')).openBulkMoves(redis)),
    campaigns: closed(async () => (await import('../../campaigns/store/queue.ts')).openCampaignQueue(redis)),
    requeues: closed(async () => (await import('../../messages/requeue/jobs.ts')).openRequeueQueue(redis)),
    erasures: closed(async () => (await import('../../erase/erasures.ts')).openErasureQueue(redis)),
    queues: closed(async () => (await import('../../lanes/queues.ts')).openLaneQueues(redis, config.retentionMs)),
  }
  return {
    shared,
    endStreams: () => live?.close(),
    async close(): Promise<void> {
      // One that could not be opened must not keep the others open.
      for (const each of await Promise.allSettled(opened)) if (each.status === 'fulfilled') await each.value.close()
    },
  }
}

/** Calls `make` the first time, and returns the same from then on. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** Opens these families on one connection; their routes are in this order. */
export async function openApi(deps: ApiDeps, wanted: readonly FamilyId[]) {
  const { shared, endStreams, close } = openShared(deps)
  const routes = await Promise.all(wanted.map((id) => HANDLERS[id](shared))).catch(async (error: unknown) => {
    await close()
    throw error
  })
  return {
    routes: routes.flat(),
    /** Ends the live pages, which would keep their connections open for ever. */
    endStreams,
    close,
  }
}
