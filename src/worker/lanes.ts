// The lanes that this worker serves. A lane is opened at its first work and closed when it has been empty for minutes.
//
// Nothing is lost between closing and a new message: a job is added first and its lane woken second, and the sweep looks at
// every lane with work every 2 s, for wakes that were lost. A lane that other workers are to serve (lane-duty.ts) is not
// opened, whoever wakes it.
import { setMaxListeners } from 'node:events'
import type { Worker } from 'bullmq'
import type { Config } from '../config.ts'
import { type Pace, paceOf } from '../messages/pace.ts'
import { isRedisAway } from '../redis/errors.ts'
import type { ServedLane } from '../redis/heartbeats.ts'
import { withTimeout } from '../redis/with-timeout.ts'
import { type Claimed, type Outgoing, type SendDeps, sendInTurn } from './attempt.ts'
import type { JobEnd } from './bullmq.ts'
import { openChunksWorker } from './chunk-worker.ts'
import { createLaneLoop, type LaneLoop } from './lane-loop.ts'
import { createLaneRooms, type LaneRoom } from './lane-room.ts'
import { senderOrWait } from './lane-sender.ts'
import { createLaneSlots, type LaneSlots } from './lane-slots.ts'
import type { ChunkEnd, ChunkRun } from './send-chunk.ts'
import type { DirectoryEntry } from './sender-directory.ts'
import { takeJobs } from './take-jobs.ts'

/** Chunks of a lane that was reopened get this long to end what they have in flight. */
const LEAVING_MS = 90_000
/** Assumed of a lane whose sender is not known yet. */
const SLOW: Pace = paceOf(1)

interface OpenLane {
  loop: LaneLoop
  room: LaneRoom
  slots: LaneSlots
  /** Places that a read under way holds for what it may find. */
  reading: () => number
  /** Takes up chunks; only once there are some. */
  chunks: Worker | undefined
  chunkAt: number
}

/** What serving lanes needs besides what an attempt does. */
export interface LanesDeps {
  send: SendDeps
  config: Pick<Config, 'maxInFlight' | 'laneIdleMs'>
  /** Does the work of a chunk and says how it ended; rejects when Redis is away or full: then it waits a second. */
  processChunk: (run: ChunkRun) => Promise<ChunkEnd>
  /** A message of a campaign was worked on. */
  noteMoved: (lane: number, run: number) => void
  /** Whether this worker is to serve the lane now. */
  isMine: (lane: number) => boolean
  /** Called when a lane opens. Never rejects. */
  opened: (lane: number) => void
}

export type Lanes = ReturnType<typeof createLanes>

/** Starts with no lane open. */
export function createLanes(deps: LanesDeps) {
  const { send, config } = deps
  const { redis, log } = send
  const open = new Map<number, OpenLane>()
  /** Workers that were replaced and end what they have in flight. */
  const leaving = new Set<Worker>()
  const rooms = createLaneRooms(config.maxInFlight)
  const stopping = new AbortController()
  // Every chunk that waits for its pace listens for as long, two on each lane: Node would take eleven for a leak.
  setMaxListeners(0, stopping.signal)

  function openLane(lane: number, has: 'jobs' | 'chunks'): void {
    if (stopping.signal.aborted || !deps.isMine(lane)) return
    let state = open.get(lane)
    if (state === undefined) {
      state = startLane(lane)
      open.set(lane, state)
      deps.opened(lane)
    }
    if (has === 'chunks') state.chunks ??= openChunks(lane, state)
    state.loop.wake()
  }

  function startLane(lane: number): OpenLane {
    let pace = SLOW
    let reading = 0
    const slots = createLaneSlots(send.clock, lane)
    const room = rooms.add(() => loop.freed())
    const loop = createLaneLoop({
      room,
      latestSlotAt: slots.latestAt,
      gapMs: () => pace.gapUs / 1_000,
      failed: (error) => {
        if (isRedisAway(error)) log.debug({ lane, err: error }, 'lane.error')
        else log.error({ lane, err: error }, 'lane.error')
      },
      take: async ({ most, firstOnly }) => {
        // Before anything is waited for: other lanes take from the same room meanwhile.
        room.begin(most)
        reading = most
        try {
          const found = await senderOrWait(send, lane)
          if ('laneMs' in found)
            return { read: 0, hasCampaign: false, heldMs: found.laneMs, isPaused: false, dueInMs: undefined }
          const { entry } = found
          if (entry) {
            pace = paceOf(entry.sender.rate)
            room.paced(pace)
          }
          const how = { most, firstOnly }
          const taken = await takeJobs(send, { lane, entry, pace }, how, (outgoing, claimed) => {
            reading -= 1
            if (entry) void attempt(entry, outgoing, claimed)
          })
          // The slots of a chunk are a campaign's as well.
          return { ...taken, hasCampaign: taken.hasCampaign || open.get(lane)?.chunks !== undefined }
        } finally {
          room.end(reading)
          reading = 0
        }
      },
    })

    /** Never rejects. */
    async function attempt(entry: DirectoryEntry, outgoing: Outgoing, claimed: Claimed): Promise<void> {
      try {
        ended(await sendInTurn(send, { slots, room }, entry, outgoing, claimed))
      } catch (error) {
        // Its record says that it was claimed: the sweep decides.
        const level = isRedisAway(error) ? 'warn' : 'error'
        log[level]({ message: outgoing.name, err: error }, 'attempt.not_settled')
      } finally {
        room.end()
        if (outgoing.message.run !== undefined) deps.noteMoved(lane, outgoing.message.run)
      }
    }

    function ended(end: JobEnd): void {
      // The cooldown itself is in Redis and asked by every claim; this keeps the lane from asking meanwhile.
      if (end.kind === 'lane_waits' || end.kind === 'done_lane_waits') loop.hold(end.ms)
      if (end.kind === 'lane_waits' || end.kind === 'waits') loop.wake()
    }

    return { loop, room, slots, reading: () => reading, chunks: undefined, chunkAt: performance.now() }
  }

  const openChunks = (lane: number, state: OpenLane): Worker =>
    openChunksWorker(
      {
        ...{ redis, config, log, queues: send.lanes },
        processChunk: (run) => deps.processChunk(run),
      },
      lane,
      {
        ...{ room: state.room, latestSlotAt: state.slots.latestAt, stopping: stopping.signal },
        send: (entry, outgoing, claimed) => sendInTurn(send, state, entry, outgoing, claimed),
        works: () => {
          state.chunkAt = performance.now()
        },
      },
    )

  async function closeLane(lane: number, state: OpenLane): Promise<void> {
    open.delete(lane)
    state.loop.stop()
    state.room.leave()
    if (!state.chunks) return
    leaving.add(state.chunks)
    await withTimeout(LEAVING_MS, state.chunks.close())
      .catch(() => state.chunks?.close(true))
      .catch((error: unknown) => log.debug({ lane, err: error }, 'lane.error'))
    leaving.delete(state.chunks)
  }

  function served(lane: number, { room, slots, reading }: OpenLane): ServedLane {
    const lately = room.answersLately()
    return {
      ...{ lane, inFlight: room.running() - reading(), answerMs: room.answerMs() },
      ...{ p50Ms: lately?.p50, p99Ms: lately?.p99, bound: room.bound(slots.latestAt()) },
    }
  }

  async function backlog(lane: number): Promise<number> {
    const { wait = 0, prioritized = 0, delayed = 0, chunked = 0 } = await send.lanes.counts(lane)
    return wait + prioritized + delayed + chunked
  }

  return {
    /** The lane has work: opens it if it is not. */
    wake: (lane: number): void => openLane(lane, 'jobs'),

    /** The lane has chunks: the same. */
    wakeChunks: (lane: number): void => openLane(lane, 'chunks'),

    isOpen: (lane: number): boolean => open.has(lane),

    /** How many are open. */
    count: (): number => open.size,

    /** Those that are open, with the messages that each has in flight here. */
    load: (): { lane: number; inFlight: number }[] =>
      [...open].map(([lane, { room }]) => ({ lane, inFlight: room.running() })),

    /** Closes lanes that others serve now. What they have in flight here ends here. */
    handOver(lanes: readonly number[]): void {
      for (const lane of lanes) {
        const state = open.get(lane)
        if (state) void closeLane(lane, state)
      }
    },

    /**
     * Serves a lane anew from which nothing leaves although it could; false when it is not open here. What it has in
     * flight ends as it ends: each message is claimed for one attempt only, whoever runs it.
     */
    reopen(lane: number): boolean {
      const silent = open.get(lane)
      if (!silent || stopping.signal.aborted) return false
      void closeLane(lane, silent)
      openLane(lane, silent.chunks ? 'chunks' : 'jobs')
      return true
    },

    /** What is known of each that is open. */
    serves: (): ServedLane[] => [...open].map(([lane, state]) => served(lane, state)),

    /** Messages that are being worked on. */
    inFlight: rooms.inFlight,

    /** The same without the places that reads under way hold. */
    claimedOrInFlight: (): number =>
      rooms.inFlight() - [...open.values()].reduce((sum, { reading }) => sum + reading(), 0),

    /** Closes lanes that have been empty for long enough. */
    async closeIdle(): Promise<void> {
      const now = performance.now()
      const idle = [...open].filter(
        ([, { loop, room, chunkAt }]) =>
          room.running() === 0 && now - Math.max(loop.lastWorkAt(), chunkAt) > config.laneIdleMs,
      )
      await Promise.all(
        idle.map(async ([lane, state]) => {
          if ((await backlog(lane)) === 0 && open.get(lane) === state) await closeLane(lane, state)
        }),
      )
    },

    /** Stops taking work, waits for what is in flight, at most `limitMs`; what is left then is found by the sweep. */
    async stop(limitMs: Promise<number>): Promise<void> {
      stopping.abort()
      const limit = limitMs.then((ms) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref()))
      const all = [...[...open.values()].flatMap(({ chunks }) => chunks ?? []), ...leaving]
      for (const { loop } of open.values()) loop.stop()
      await Promise.race([Promise.all([...all.map((worker) => worker.close()), rooms.idle()]), limit])
      await Promise.race([
        Promise.all(all.map((worker) => worker.close(true))),
        new Promise<void>((resolve) => setTimeout(resolve, 1_000).unref()),
      ])
      open.clear()
    },
  }
}
