// The worker process: one list of all its parts, started in order. On a stop the lanes and all background processors stop at once, then
// what they share, in reverse. To add a background processor, add it to the list.

import { writeKeyUses } from '../accounts/key-uses.ts'
import { startExpiry } from '../admin/expiry.processor.ts'
import { startTemplateSyncs } from '../admin/template-syncs.processor.ts'
import { startCampaignJobs } from '../campaigns/campaigns.processor.ts'
import type { UploadedFor } from '../campaigns/preflight/campaign-files.ts'
import { countReplies } from '../campaigns/replies.processor.ts'
import { startErasures } from '../erase/erasures.processor.ts'
import { startRelay } from '../events/relay.processor.ts'
import { startMoves } from '../gallery/moves.processor.ts'
import type { Config } from '../kernel/config.ts'
import type { Log } from '../kernel/log.ts'
import { HOUR_MS } from '../kernel/time-units.ts'
import { startReceivedMedia } from '../messages/received/received-media.processor.ts'
import { startRequeues } from '../messages/requeue/requeue.processor.ts'
import { trimRequeueable } from '../messages/requeue/requeueable.ts'
import { trustedRedisNowMs } from '../redis/clock.ts'
import { withTimeout } from '../redis/errors.ts'
import { removeHeartbeat } from '../redis/heartbeats.ts'
import { rootKeys } from '../redis/keys.ts'
import { deleteIf } from '../redis/lock.ts'
import { watchRedis } from '../telemetry/redis-watch.ts'
import { createTelemetry, type Telemetry } from '../telemetry/telemetry.ts'
import { startIntake } from './intake/intake.ts'
import { releaseStalePlaces, STALE_CHECK_MS } from './recovery/stale-places.ts'
import { startStatusPolls } from './recovery/status-polls.ts'
import { createSweeper } from './recovery/sweeper.ts'
import { createServing } from './serving.ts'
import { openShared } from './shared.ts'
import { closing, every, oneByOne, type Part, part, sideBySide } from './start-stop.ts'

/** A preflight waits so long for an upload; after that the campaign starts with its messages waiting. */
const UPLOAD_BEFORE_START_MS = 60_000
/** How often replies are counted for the campaigns that they answer. */
const REPLIES_MS = 3_000
/** How often the lists of requeueable messages are trimmed. */
const TRIM_MS = HOUR_MS
/** How long a stop waits for its last commands to Redis: a connection that waits for Redis would wait for ever. */
const LAST_WORDS_MS = 500

/**
 * Starts a worker on `redisUrl` and returns once it takes work. When a part cannot be started, those before it are stopped
 * again. A process that dies leaves nothing that others do not take over: the head of each part's file explains how.
 */
export async function startWorker(
  config: Config,
  redisUrl: string,
  log: Log,
  telemetry: Telemetry = createTelemetry(),
): Promise<{ name: string; close: () => Promise<void> }> {
  const shared = await openShared(config, redisUrl, log)
  const { redis, files, directory, uploads, worker: name } = shared
  const { retentionMs } = config

  const polls = processor(() => startStatusPolls(shared))
  const campaigns = processor(() => startCampaignJobs({ ...shared, uploadedFor }))
  const serving = createServing({
    ...shared,
    followByPolling: (lane) => polls.running().follow(lane),
    noteMoved: (lane, run) => campaigns.running().noteMoved(lane, run),
  })
  const sweeper = createSweeper({ ...shared, followByPolling: (lane) => polls.running().pickUp(lane) })

  const worker = oneByOne([
    // What all parts share is open already, and closed last.
    closing(() => {
      shared.listener.disconnect()
      redis.disconnect()
    }),
    part(showInMetrics, (hide) => hide()),
    closing(() => inTime(shared.cloudUploads.close())),
    closing(() => shared.agent.destroy()),
    closing(() => files.close()),
    part(() => telemetry.start(redis, log, sweeper.isElected), writeAtEnd),
    closing(() => inTime(shared.media.close())),
    closing(() => shared.graph.close()),
    // All these parts are stopped at once, since each may take most of the time that a stop has.
    sideBySide([
      part(() => watchRedis(redis, log), end),
      polls,
      campaigns,
      processor(() => startMoves(shared)),
      processor(() => startIntake({ ...shared, config: { ...config, files } })),
      processor(() => startRequeues(shared)),
      processor(() => startRelay(shared)),
      processor(() => startErasures(shared)),
      processor(() => startReceivedMedia(shared)),
      processor(() => startTemplateSyncs({ ...shared, retentionMs })),
      processor(() => uploads),
      serving.lanes,
      serving.listening,
      serving.heartbeat,
      sweeper,
      part(() => startExpiry(shared), end),
      serving.refreshLanes,
      serving.closingIdle,
      every(TRIM_MS, trimLists, log),
      every(STALE_CHECK_MS, checkHeldPlaces, log),
      every(REPLIES_MS, async () => (sweeper.isElected() ? countReplies(redis, log) : undefined), log),
    ]),
  ])
  await worker.start()
  log.info({ worker: name }, 'worker.started')

  return {
    name,
    /**
     * Takes no more work, finishes what is in flight, closes everything. Ends in time also when Redis is away: messages in
     * flight wait for Redis as long as there is time; after that the next worker finds them unconfirmed.
     */
    async close() {
      await worker.stop()
      log.info({ worker: name }, 'worker.stopped')
    },
  }

  /** A background processor, which may finish its work under way within the time that a stop has. */
  function processor<T extends { stop: (limitMs: number) => unknown }>(begin: () => T | Promise<T>): Part<T> {
    return part(begin, async (running) => running.stop(await serving.stopLimitMs()))
  }

  async function uploadedFor(lane: number, file: number): ReturnType<UploadedFor> {
    const entry = await directory.of(lane)
    return entry === undefined ? { kind: 'ready' } : uploads.settled(entry, file, UPLOAD_BEFORE_START_MS)
  }

  function showInMetrics(): () => void {
    const hide = [telemetry.watchConnections(shared.agent.connections), telemetry.watchInFlight(serving.inFlight)]
    return () => {
      for (const each of hide) each()
    }
  }

  /** Deregisters this worker, and writes what it has counted. */
  async function writeAtEnd(counting: ReturnType<Telemetry['start']>): Promise<void> {
    const { inFlight: left } = serving.inFlight()
    if (left > 0) log.warn({ messages: left }, 'stop.left_in_flight')
    await inTime(
      Promise.all([
        // A heartbeat that was under way may have come after its removal.
        removeHeartbeat(redis, name),
        deleteIf(redis, rootKeys.sweeper, name),
        shared.queues.close(),
        counting.stop(),
        writeKeyUses(redis),
      ]),
    )
  }

  async function trimLists(): Promise<void> {
    await trimRequeueable(redis, { nowMs: await trustedRedisNowMs(redis), retentionMs, everyMs: TRIM_MS })
  }

  async function checkHeldPlaces(): Promise<void> {
    const released = sweeper.isElected() ? await releaseStalePlaces(redis) : 0
    if (released > 0) log.info({ places: released }, 'held_places.released')
  }
}

const end = (running: { stop: () => void }): void => running.stop()

/** A stop waits no longer than LAST_WORDS_MS for this work: nothing that was accepted depends on it. */
const inTime = (work: Promise<unknown>): Promise<unknown> => withTimeout(LAST_WORDS_MS, work).catch(() => {})
