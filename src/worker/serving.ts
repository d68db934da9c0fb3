// The lanes that a worker serves: what opens and closes them, and how other workers learn of it. Serving one lane is in
// sending/.

import { hostname } from 'node:os'
import { createCampaignRefusals } from '../campaigns/fan-out/circuit-breaker.ts'
import { repeatedly } from '../kernel/repeatedly.ts'
import { VERSION } from '../kernel/version.ts'
import { createClearing } from '../lanes/clearing.ts'
import { countLanes } from '../lanes/sweep-lists.ts'
import { askForServers, countReopened, lanesToWake, serversAsked } from '../lanes/wake.ts'
import { createNameMemory } from '../people/name-memory.ts'
import { CheckValidity } from '../people/opt-outs/check-validity.ts'
import { createOpenCampaigns } from '../recipients/open-campaigns.ts'
import { serverOf } from '../redis/connect.ts'
import { withTimeout } from '../redis/errors.ts'
import { HEARTBEAT_MS, namesOfLiveWorkers, removeHeartbeat, sendHeartbeat } from '../redis/heartbeats.ts'
import { lanePrefix, rootKeys } from '../redis/keys.ts'
import { TRY_EVERY_MS, tryListener } from './listening.ts'
import type { SendDeps } from './sending/attempt.ts'
import { createLaneAssignment } from './sending/lane-assignment.ts'
import { createLaneBackoff } from './sending/lane-backoff.ts'
import { createLanes } from './sending/lanes.ts'
import { createRedisClock } from './sending/redis-clock.ts'
import type { Shared } from './shared.ts'
import { every, part } from './start-stop.ts'

const { wake, wakeLanes, wakeCampaigns, wideLanes, reopen: toReopen } = rootKeys
const CHANNELS = [wake, wakeLanes, wakeCampaigns, wideLanes, toReopen]

/** How often lanes that have been empty for long are looked for. */
const CLOSE_IDLE_MS = 2_000
/** How often a worker reads who else is alive: a dead one is off the list 10 s after its last heartbeat. */
const REFRESH_MS = 2_000
/** A lane that nothing leaves is offered to so many; to all of them it would be 80,000 connections after a bad minute. */
const SERVERS_AFTER_SILENCE = 4
/** Time for messages in flight to finish on SIGTERM; the process must be gone within 20 s. */
const DRAIN_MS = 16_000
/** The same when Redis does not answer and no message is in flight: other workers take all other work up again. */
const DRAIN_WITHOUT_REDIS_MS = 1_000
/** A Redis that does not answer within this is taken to be away. */
const ANSWER_MS = 1_000
/** How long removing the heartbeat waits for Redis. */
const TAKEN_BACK_MS = 500

interface ServingDeps extends Shared, Pick<SendDeps, 'noteMoved'> {
  /** A message was sent over a wire without webhooks. */
  followByPolling: (lane: number) => void
}

/** Serves lanes, in parts that are started and stopped one by one. */
export function createServing(deps: ServingDeps) {
  const { redis, listener, config, log, queues, directory, worker } = deps
  const clearing = createClearing({ redis, config, log })
  const send = {
    ...{ redis, config, log, lanes: queues, directory, worker },
    ...{
      followByPolling: deps.followByPolling,
      noteMoved: deps.noteMoved,
      tombstones: deps.tombstones,
      uploads: deps.uploads,
    },
    checks: new CheckValidity(redis),
    nameMemory: createNameMemory(),
    backoff: createLaneBackoff(log),
    refusals: createCampaignRefusals({ redis, log, config }),
    clock: createRedisClock((lane) => serverOf(redis, lanePrefix(lane))),
    clearLane: clearing.begin,
    campaigns: createOpenCampaigns({ redis, files: deps.files, validityMs: config.validityMs.campaign }),
  }
  const assignment = createLaneAssignment({ self: worker, maxInFlight: config.maxInFlight })
  const lanes = createLanes({ send, config, isMine: assignment.isMine, opened })
  const inFlight = () => ({ inFlight: lanes.claimedOrInFlight(), maxInFlight: config.maxInFlight })
  let limitMs: Promise<number> | undefined

  function opened(lane: number): void {
    const asked = directory.of(lane).then(async (entry) => {
      const servers = entry && assignment.opened(lane, entry.sender.rate)
      if (servers !== undefined) await askForServers(redis, [{ lane, servers }])
    })
    asked.catch((error: unknown) => log.warn({ lane, err: error }, 'servers.not_asked'))
  }

  function reopen(lane: number): void {
    // Whatever keeps its present workers from serving it, others are woken by the next sweep of the lane.
    assignment.addServers(lane, SERVERS_AFTER_SILENCE)
    if (!lanes.reopen(lane)) return
    log.warn({ lane }, 'lane.reopened')
    countReopened(redis, lane).catch((error: unknown) => log.debug({ lane, err: error }, 'reopened.not_counted'))
  }

  function onMessage(channel: string, text: string): void {
    if (channel === rootKeys.reopen) reopen(Number(text))
    else if (channel === rootKeys.wideLanes) {
      for (const { lane, servers } of serversAsked(text)) assignment.addServers(lane, servers)
    } else {
      const wake = channel === rootKeys.wakeCampaigns ? lanes.wakeCampaigns : lanes.wake
      for (const lane of lanesToWake(text)) wake(lane)
    }
  }

  /** How long work under way may take to finish, counted from the first call, at the beginning of a stop. */
  function stopLimitMs(): Promise<number> {
    limitMs ??= withTimeout(ANSWER_MS, redis.ping()).then(
      () => DRAIN_MS,
      () => (lanes.inFlight() === 0 ? DRAIN_WITHOUT_REDIS_MS : DRAIN_MS),
    )
    return limitMs
  }

  return {
    inFlight,
    stopLimitMs,

    /** Opens lanes that have work or are woken later. */
    lanes: {
      async start(): Promise<void> {
        listener.on('message', onMessage)
        // First read who else is alive: otherwise all lanes that wake meanwhile would be opened here.
        assignment.know([...(await namesOfLiveWorkers(redis)), worker], await countLanes(redis))
        await listener.subscribe(...CHANNELS)
      },
      /** Takes no more work and finishes what is in flight. The sweep finds the rest unconfirmed. */
      async stop(): Promise<void> {
        clearing.stop()
        await lanes.stop(stopLimitMs())
      },
    },

    /** Replaces the connection for wakes when it went half open. */
    listening: every(TRY_EVERY_MS, () => tryListener(listener, CHANNELS), log),

    /** Shows other workers that this one serves lanes. */
    heartbeat: part(
      async () => {
        const facts = {
          ...{ host: hostname(), pid: process.pid, startedAt: Date.now() },
          ...{ version: VERSION, node: process.versions.node },
        }
        const beat = () =>
          sendHeartbeat(redis, worker, { ...facts, ...inFlight(), lanes: lanes.count(), serves: lanes.serves() })
        // A full Redis refuses it. Only the check whether a worker is there waits for the first heartbeat.
        await beat().catch((error: unknown) => log.debug({ err: error }, 'heartbeat.refused'))
        return repeatedly(HEARTBEAT_MS, beat, log)
      },
      // At once: what comes in from now on is for others, who find that this one is gone.
      async (beating) => {
        beating.stop()
        await withTimeout(TAKEN_BACK_MS, removeHeartbeat(redis, worker)).catch(() => {})
      },
    ),

    /** Assigns lanes again when workers come and go. */
    refreshLanes: every(
      REFRESH_MS,
      async () => {
        assignment.know(await namesOfLiveWorkers(redis), await countLanes(redis))
        const load = lanes.load()
        lanes.handOver(assignment.handedOver(load.map(({ lane }) => lane)))
        await askForServers(redis, assignment.inNeed(load))
      },
      log,
    ),

    /** Closes lanes that have been empty for long. */
    closingIdle: every(CLOSE_IDLE_MS, () => lanes.closeIdle(), log),
  }
}
