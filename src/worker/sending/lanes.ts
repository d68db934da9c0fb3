// The lanes that this worker serves. A lane is opened at its first work and closed when it has been empty for minutes.
//
// Nothing is lost between closing and a new message: a job is added first and its lane woken second, and the sweep
// looks at every lane with work every 2 s, for wakes that were lost. A lane that other workers are to serve
// (lane-assignment.ts) is not opened, whoever wakes it.

import type { Config } from '../../config.ts'
import { type Pace, paceOf } from '../../messages/pace.ts'
import { reserveSlots } from '../../messages/store/claim.ts'
import { releaseRead } from '../../queue/lane/next-jobs.ts'
import type { JobEnd, Worker } from '../../queue/worker.ts'
import { isRedisAway } from '../../redis/errors.ts'
import type { ServedLane } from '../../redis/heartbeats.ts'
import { withTimeout } from '../../redis/with-timeout.ts'
import { type Claimed, type Outgoing, type SendDeps, sendInTurn } from './attempt.ts'
import { openChunksWorker } from './chunk-worker.ts'
import { createLaneSlots, type LaneSlots, MOST_AHEAD_MS } from './departure.ts'
import { createLaneLoop, type LaneLoop } from './lane-loop.ts'
import { createLaneRooms, type LaneRoom } from './lane-room.ts'
import type { ChunkRun } from './send-chunk.ts'
import { type DirectoryEntry, senderOrWait } from './sender-directory.ts'
import { type Taken, takeNext } from './take.ts'
import { type ChunkEnd, createTakenChunks, type TakenChunks } from './waiting-messages.ts'

/** How long chunks of a lane that was closed get to come to their end. */
const LEAVING_MS = 90_000

interface OpenLane extends Lane {
  /** Takes up chunks; only once there are some. */
  chunkWorker: Worker | undefined
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
  /** Workers of chunks whose lanes were closed, which come to their end. */
  const leaving = new Set<Worker>()
  const rooms = createLaneRooms(config.maxInFlight)
  const stopping = new AbortController()

  function openLane(lane: number, has: 'jobs' | 'chunks'): void {
    if (stopping.signal.aborted || !deps.isMine(lane)) return
    let state = open.get(lane)
    if (state === undefined) {
      const served = serveLane(send, lane, { rooms, noteMoved: (run) => deps.noteMoved(lane, run) })
      state = { ...served, chunkWorker: undefined, chunkAt: performance.now() }
      open.set(lane, state)
      deps.opened(lane)
    }
    if (has === 'chunks') state.chunkWorker ??= openChunks(lane, state)
    state.loop.wake()
  }

  const openChunks = (lane: number, state: OpenLane): Worker =>
    openChunksWorker({ redis, log, queues: send.lanes, processChunk: deps.processChunk }, lane, {
      chunks: state.chunks,
      works: () => {
        state.chunkAt = performance.now()
      },
    })

  async function closeLane(lane: number, state: OpenLane): Promise<void> {
    open.delete(lane)
    state.loop.stop()
    state.room.leave()
    state.chunks.close()
    const { chunkWorker } = state
    if (!chunkWorker) return
    leaving.add(chunkWorker)
    await withTimeout(LEAVING_MS, chunkWorker.close())
      .catch(() => chunkWorker.close(true))
      .catch((error: unknown) => log.debug({ lane, err: error }, 'lane.error'))
    leaving.delete(chunkWorker)
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
     * Opens a lane once more from which nothing leaves although it could; false when it is not open here. What it has
     * in flight still comes to its end: each message is claimed for one attempt only, whoever runs it.
     */
    reopen(lane: number): boolean {
      const silent = open.get(lane)
      if (!silent || stopping.signal.aborted) return false
      void closeLane(lane, silent)
      openLane(lane, silent.chunkWorker ? 'chunks' : 'jobs')
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
      const all = [...[...open.values()].flatMap(({ chunkWorker }) => chunkWorker ?? []), ...leaving]
      for (const { loop, chunks } of open.values()) {
        loop.stop()
        chunks.close()
      }
      await Promise.race([Promise.all([...all.map((worker) => worker.close()), rooms.idle()]), limit])
      // What it could not release when Redis was away: nobody is to take this worker for one that died over it.
      const released = [...open.keys()].map((lane) => releaseRead(redis, lane, send.worker).catch(() => {}))
      await Promise.race([
        Promise.all([...released, ...all.map((worker) => worker.close(true))]),
        new Promise<void>((resolve) => setTimeout(resolve, 1_000).unref()),
      ])
      open.clear()
    },
  }
}

/** How long after Redis was away chunks are taken up again. */
const AWAY_MS = 1_000
/** Assumed of a lane whose sender is not known yet. */
const SLOW: Pace = paceOf(1)

/** What one lane consists of in this process. */
interface Lane {
  loop: LaneLoop
  room: LaneRoom
  slots: LaneSlots
  chunks: TakenChunks
  /** Places that a read under way holds for what it may find. */
  reading: () => number
}

/**
 * Serves the lane until its loop is stopped: its messages are claimed, wait for their slots and are sent. `noteMoved`:
 * a message of this campaign was worked on.
 */
export function serveLane(
  send: SendDeps,
  lane: number,
  { rooms, noteMoved }: { rooms: ReturnType<typeof createLaneRooms>; noteMoved: (run: number) => void },
): Lane {
  const { log } = send
  let pace = SLOW
  let reading = 0
  const slots = createLaneSlots(send.clock, lane, async (missed, ofPace) => {
    const askedAt = performance.now()
    const found = await reserveSlots(send.redis, lane, missed, { pace: ofPace, mostAheadMs: MOST_AHEAD_MS })
    const [slot] = found
    if (slot) send.clock.heard(lane, askedAt, slot.nowMs, performance.now())
    return found
  })
  const room = rooms.add(() => loop.freed())
  const chunks = createTakenChunks(() => loop.wake())
  const loop = createLaneLoop({
    room,
    latestSlotAt: slots.latestAt,
    gapMs: () => pace.gapUs / 1_000,
    failed: (error) => {
      if (isRedisAway(error)) log.debug({ lane, err: error }, 'lane.error')
      else log.error({ lane, err: error }, 'lane.error')
    },
    take: async (take) => {
      // Before anything is waited for: other lanes take from the same room meanwhile.
      room.begin(take.most)
      reading = take.most
      try {
        const found = await senderOrWait(send, lane)
        if ('laneMs' in found) return waiting(found.laneMs)
        const { entry } = found
        if (entry) {
          pace = paceOf(entry.sender.rate)
          room.paced(pace)
        }
        return await takeNext(send, { lane, entry, pace, chunks }, take, (outgoing, claimed) => {
          reading -= 1
          if (entry) void attempt(entry, outgoing, claimed)
        })
      } catch (error) {
        // What was claimed without our hearing of it is not claimed again: its chunk, taken up again, passes it over.
        chunks.end({ kind: 'waits', ms: AWAY_MS })
        throw error
      } finally {
        room.end(reading)
        reading = 0
      }
    },
  })

  function waiting(heldMs: number): Taken {
    chunks.end({ kind: 'lane_waits', ms: heldMs })
    return { hasMore: true, hasCampaign: false, heldMs, isPaused: false, dueInMs: undefined }
  }

  /** Never rejects. */
  async function attempt(entry: DirectoryEntry, outgoing: Outgoing, claimed: Claimed): Promise<void> {
    try {
      await ended(outgoing, await sendInTurn(send, { slots, room }, entry, outgoing, claimed))
    } catch (error) {
      // Its record says that it was claimed: the sweep decides.
      const level = isRedisAway(error) ? 'warn' : 'error'
      log[level]({ message: outgoing.name, err: error }, 'attempt.not_settled')
    } finally {
      room.end()
      if (outgoing.message.run !== undefined) noteMoved(outgoing.message.run)
    }
  }

  async function ended({ name, from, payload }: Outgoing, end: JobEnd): Promise<void> {
    if (end.kind === 'done' || end.kind === 'dead_letter') return
    // The cooldown itself is in Redis and asked by every claim; this keeps the lane from asking meanwhile.
    if (end.kind !== 'waits') loop.hold(end.ms)
    if (end.kind === 'done_lane_waits') return
    // Its chunk may have ended long ago.
    if (from === 'place') await send.lanes.add(name, payload(), end.kind === 'waits' ? end.ms : 0)
    loop.wake()
  }

  return { loop, room, slots, chunks, reading: () => reading }
}
