// The worker process: serves the lanes, polls statuses, moves files, runs the sweeper.

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { writeKeyUses } from '../accounts/key-uses.ts'
import { startExpiry } from '../admin/expiry.processor.ts'
import { startTemplateSyncs } from '../admin/template-syncs.processor.ts'
import { startCampaignJobs } from '../campaigns/campaigns.processor.ts'
import { createCampaignRefusals } from '../campaigns/fan-out/circuit-breaker.ts'
import type { UploadedFor } from '../campaigns/preflight/campaign-files.ts'
import { countReplies } from '../campaigns/replies.processor.ts'
import { startErasures } from '../erase/erasures.processor.ts'
import { startRelay } from '../events/relay.processor.ts'
import { openFiles } from '../files/open.ts'
import { startMoves } from '../gallery/moves.processor.ts'
import type { Config } from '../kernel/config.ts'
import type { Log } from '../kernel/log.ts'
import { repeatedly } from '../kernel/repeatedly.ts'
import { createSeal } from '../kernel/seal.ts'
import { useDataKeys } from '../kernel/sealed.ts'
import { secretKeysOf } from '../kernel/secret-keys.ts'
import { VERSION } from '../kernel/version.ts'
import { createClearing } from '../lanes/clear-lanes.processor.ts'
import { openLaneQueues } from '../lanes/queues.ts'
import { countLanes } from '../lanes/sweep-lists.ts'
import { askForServers, countReopened, lanesToWake, serversAsked } from '../lanes/wake.ts'
import { startReceivedMedia } from '../messages/received/received-media.processor.ts'
import { startRequeues } from '../messages/requeue/requeue.processor.ts'
import { trimRequeueable } from '../messages/requeue/requeueable.ts'
import { createNameMemory } from '../people/name-memory.ts'
import { useOptOutSecrets } from '../people/opt-outs/erased.ts'
import { createTombstones } from '../people/tombstones.ts'
import { cloudApi, createOpaqueIds } from '../providers/cloud-api.ts'
import { createMediaSource } from '../providers/cloud-media.ts'
import { createCloudUploads } from '../providers/cloud-upload.ts'
import { createGraphApi } from '../providers/graph-api.ts'
import { createHttpAgent } from '../providers/http-agent.ts'
import { partnerApi } from '../providers/partner-api.ts'
import { createOpenCampaigns } from '../recipients/open-campaigns.ts'
import { trustedRedisNowMs } from '../redis/clock.ts'
import { connectWithRetry, serverOf } from '../redis/connect.ts'
import { withTimeout } from '../redis/errors.ts'
import { HEARTBEAT_MS, namesOfLiveWorkers, removeHeartbeat, sendHeartbeat } from '../redis/heartbeats.ts'
import { lanePrefix, rootKeys } from '../redis/keys.ts'
import { deleteIf, ELECTED_MS, holdLease } from '../redis/lock.ts'
import { requireReplicas } from '../redis/replication.ts'
import { clockOffMs } from '../redis/trusted-clock.ts'
import { watchRedis } from '../telemetry/redis-watch.ts'
import { createTelemetry, type Telemetry } from '../telemetry/telemetry.ts'
import { startIntake } from './intake/intake.ts'
import { REVIEW_MS, reviewHeldPlaces } from './recovery/held-places.ts'
import { startStatusPolls } from './recovery/status-polls.ts'
import { createSweep, SWEEP_MS } from './recovery/sweep.ts'
import { createLaneAssignment } from './sending/lane-assignment.ts'
import { createLaneBackoff } from './sending/lane-backoff.ts'
import { createLanes } from './sending/lanes.ts'
import { createRedisClock } from './sending/redis-clock.ts'
import { sendChunk } from './sending/send-chunk.ts'
import { createSenderDirectory } from './sending/sender-directory.ts'
import { createUploads } from './sending/uploads.ts'

/** How often lanes that have been empty for long are looked for. */
const CLOSE_IDLE_MS = 2_000
/** How often a worker looks who else is alive: a dead one is off the list 10 s after its last heartbeat. */
const SURVEY_MS = 2_000
/** A lane that nothing leaves is offered to so many; to all of them it would be 80,000 connections after a bad minute. */
const SERVERS_AFTER_SILENCE = 4
/** In-flight work gets this long to finish on SIGTERM; the process must be gone within 20 s. */
const DRAIN_MS = 16_000
/** The same when Redis does not answer and no message is in flight: other workers take all other work up again. */
const DRAIN_WITHOUT_REDIS_MS = 1_000
/** A Redis that does not answer within this is taken to be away. */
const ANSWER_MS = 1_000
/** A preflight waits so long for an upload; after that the campaign starts with its messages waiting. */
const UPLOAD_BEFORE_START_MS = 60_000
/** How often replies are counted for the campaigns that they answer. */
const REPLIES_MS = 3_000
/** How often the lists of what ended badly are trimmed. */
const TRIM_MS = 3_600_000
/** Redis gets this long for anything else that a stop asks of it: a connection that waits would wait for ever. */
const LAST_WORDS_MS = 500

/** Starts a worker on `redisUrl` and returns once it takes work. */
export async function startWorker(
  config: Config,
  redisUrl: string,
  log: Log,
  telemetry: Telemetry = createTelemetry(),
): Promise<{ name: string; close: () => Promise<void> }> {
  const host = hostname()
  const name = `${host}-${process.pid}-${randomUUID().slice(0, 8)}`
  useDataKeys(config.dataKeys)
  useOptOutSecrets(() => secretKeysOf(config))
  const redis = connectWithRetry(redisUrl)
  const listener = connectWithRetry(redisUrl)
  requireReplicas(redis, config.redisMinReplicas)
  for (const connection of [redis, listener]) {
    connection.on('error', (error) => log.warn({ err: error }, 'redis.error'))
  }

  const watching = watchRedis(redis, log)
  let sweeps = false
  const counting = telemetry.start(redis, log, () => sweeps)
  const secretKeys = secretKeysOf(config)
  const agent = createHttpAgent()
  const unwatchConnections = telemetry.watchConnections(agent.connections)
  const cloudUploads = createCloudUploads(config.cloudApiVersion)
  const providers = {
    'partner-api': partnerApi(agent),
    'cloud-api': cloudApi(agent, createOpaqueIds(secretKeys), config.cloudApiVersion, cloudUploads),
  }
  const queues = openLaneQueues(redis, config.retentionMs)
  const directory = createSenderDirectory({ redis, seal: createSeal(secretKeys), providers })
  const polls = startStatusPolls({ redis, config, log, directory, queues })
  const followByPolling = (lane: number): void => polls.follow(lane)
  const clearing = createClearing({ redis, config, log })
  const tombstones = createTombstones(redis, secretKeys)
  const files = await openFiles(config)
  const uploads = createUploads({ redis, files, config, log, lanes: queues, worker: name })
  const sendDeps = {
    ...{ redis, config, log, lanes: queues, directory, followByPolling, tombstones, uploads, worker: name },
    nameMemory: createNameMemory(),
    backoff: createLaneBackoff(log),
    refusals: createCampaignRefusals({ redis, log, config }),
    clock: createRedisClock((lane) => serverOf(redis, lanePrefix(lane))),
    clearLane: clearing.begin,
  }
  const assignment = createLaneAssignment({ self: name, maxInFlight: config.maxInFlight })
  const opened = (lane: number): void => {
    const asked = directory.of(lane).then(async (entry) => {
      const servers = entry && assignment.opened(lane, entry.sender.rate)
      if (servers !== undefined) await askForServers(redis, [{ lane, servers }])
    })
    asked.catch((error: unknown) => log.warn({ lane, err: error }, 'servers.not_asked'))
  }
  const uploadedFor: UploadedFor = async (lane, file) => {
    const entry = await directory.of(lane)
    return entry === undefined ? { kind: 'ready' } : uploads.settled(entry, file, UPLOAD_BEFORE_START_MS)
  }
  const campaigns = startCampaignJobs({ redis, files, config, log, queues, uploadedFor })
  const openCampaigns = createOpenCampaigns({ redis, files, validityMs: config.validityMs.campaign })
  const chunkDeps = { ...sendDeps, campaigns: openCampaigns }
  const lanes = createLanes({
    send: sendDeps,
    config,
    processChunk: (run) => sendChunk(chunkDeps, run),
    noteMoved: campaigns.noteMoved,
    isMine: assignment.isMine,
    opened,
  })
  const moves = await startMoves({ redis, log })
  const intake = await startIntake({ redis, config: { ...config, files }, log, queues, tombstones })
  const requeues = startRequeues({ redis, config, log, queues })
  const relay = startRelay({ redis, config, log, seal: createSeal(secretKeys), worker: name })
  const graph = createGraphApi(config.cloudApiVersion)
  const erasures = await startErasures({ redis, files, config, log, queues, graph, seal: createSeal(secretKeys) })
  const media = createMediaSource(config.cloudApiVersion)
  const receivedMedia = startReceivedMedia({ redis, files, config, log, seal: createSeal(secretKeys), media })
  const retentionMs = config.retentionMs
  const templateSyncs = startTemplateSyncs({ redis, retentionMs, log, graph, seal: createSeal(secretKeys) })

  const reopen = (lane: number): void => {
    // Whatever it is that keeps those who serve it from doing so, others are woken by the next look at the lane.
    assignment.addServers(lane, SERVERS_AFTER_SILENCE)
    if (!lanes.reopen(lane)) return
    log.warn({ lane }, 'lane.reopened')
    countReopened(redis, lane).catch((error: unknown) => log.debug({ lane, err: error }, 'reopened.not_counted'))
  }
  listener.on('message', (channel, text) => {
    if (channel === rootKeys.reopen) return reopen(Number(text))
    if (channel === rootKeys.wideLanes) {
      for (const { lane, servers } of serversAsked(text)) assignment.addServers(lane, servers)
      return
    }
    const wake = channel === rootKeys.wakeChunks ? lanes.wakeChunks : lanes.wake
    for (const lane of lanesToWake(text)) wake(lane)
  })
  const { wake, wakeLanes, wakeChunks, wideLanes } = rootKeys
  // First who else is there: all lanes that wake meanwhile would be opened here otherwise.
  assignment.know([...(await namesOfLiveWorkers(redis)), name], await countLanes(redis))
  await listener.subscribe(wake, wakeLanes, wakeChunks, wideLanes, rootKeys.reopen)
  // A full Redis refuses it. Nothing waits for the first heartbeat but the check whether a worker is there.
  const facts = { host, pid: process.pid, startedAt: Date.now(), version: VERSION, node: process.versions.node }
  const inFlight = () => ({ inFlight: lanes.claimedOrInFlight(), maxInFlight: config.maxInFlight })
  const unwatchInFlight = telemetry.watchInFlight(inFlight)
  const sayAlive = () =>
    sendHeartbeat(redis, name, { ...facts, ...inFlight(), lanes: lanes.count(), serves: lanes.serves() })
  await sayAlive().catch((error: unknown) => log.debug({ err: error }, 'heartbeat.refused'))
  const heartbeats = repeatedly(HEARTBEAT_MS, sayAlive, log)
  const sweep = createSweep({ redis, config, log, queues, directory, followByPolling: polls.pickUp })
  const sweeping = repeatedly(
    SWEEP_MS,
    async () => {
      sweeps = await holdLease(redis, rootKeys.sweeper, { holder: name, ms: ELECTED_MS })
      // By a clock that is not believed every attempt in flight would be taken for lost.
      return sweeps && clockOffMs(redis) === 0 ? sweep.sweep() : sweep.pass()
    },
    log,
  )
  const expiry = startExpiry({ redis, files, config, log, queues })
  const surveying = repeatedly(
    SURVEY_MS,
    async () => {
      assignment.know(await namesOfLiveWorkers(redis), await countLanes(redis))
      const load = lanes.load()
      lanes.handOver(assignment.handedOver(load.map(({ lane }) => lane)))
      await askForServers(redis, assignment.inNeed(load))
    },
    log,
  )
  const closingIdle = repeatedly(CLOSE_IDLE_MS, () => lanes.closeIdle(), log)
  const trim = async () => {
    await trimRequeueable(redis, {
      nowMs: await trustedRedisNowMs(redis),
      retentionMs: config.retentionMs,
      everyMs: TRIM_MS,
    })
  }
  const trimming = repeatedly(TRIM_MS, trim, log)
  const reviewPlaces = async (): Promise<void> => {
    const released = sweeps ? await reviewHeldPlaces(redis) : 0
    if (released > 0) log.info({ places: released }, 'held_places.released')
  }
  const reviewing = repeatedly(REVIEW_MS, reviewPlaces, log)
  const replies = repeatedly(REPLIES_MS, async () => (sweeps ? countReplies(redis, log) : undefined), log)
  log.info({ worker: name }, 'worker.started')

  return {
    name,
    /**
     * Takes no more work, finishes what is in flight, closes everything. Ends in time also when Redis is away: what is
     * in flight then waits for Redis as long as there is time, and is found unconfirmed by the next worker after that.
     */
    async close() {
      watching.stop()
      sweeping.stop()
      clearing.stop()
      closingIdle.stop()
      trimming.stop()
      reviewing.stop()
      replies.stop()
      expiry.stop()
      surveying.stop()
      const limit = withTimeout(ANSWER_MS, redis.ping()).then(
        () => DRAIN_MS,
        () => (lanes.inFlight() === 0 ? DRAIN_WITHOUT_REDIS_MS : DRAIN_MS),
      )
      // At once: what comes in from now on is for others, who see that this one is gone.
      heartbeats.stop()
      const lanesStopped = lanes.stop(limit)
      await withTimeout(LAST_WORDS_MS, removeHeartbeat(redis, name)).catch(() => {})
      const limitMs = await limit
      await Promise.all([
        lanesStopped,
        polls.stop(limitMs),
        moves.stop(limitMs),
        campaigns.stop(limitMs),
        requeues.stop(limitMs),
        relay.stop(limitMs),
        erasures.stop(limitMs),
        intake.stop(limitMs),
        templateSyncs.stop(limitMs),
        receivedMedia.stop(limitMs),
        uploads.stop(limitMs),
      ])
      await graph.close()
      await withTimeout(LAST_WORDS_MS, media.close()).catch(() => {})
      const left = lanes.claimedOrInFlight()
      if (left > 0) log.warn({ messages: left }, 'stop.left_in_flight')
      await withTimeout(
        LAST_WORDS_MS,
        Promise.all([
          removeHeartbeat(redis, name),
          deleteIf(redis, rootKeys.sweeper, name),
          queues.close(),
          counting.stop(),
          writeKeyUses(redis),
        ]),
      ).catch(() => {})
      files.close()
      agent.destroy()
      await withTimeout(LAST_WORDS_MS, cloudUploads.close()).catch(() => {})
      unwatchConnections()
      unwatchInFlight()
      listener.disconnect()
      redis.disconnect()
      log.info({ worker: name }, 'worker.stopped')
    },
  }
}
