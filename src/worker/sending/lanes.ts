// The lanes that this worker serves. A lane opens at its first work and closes when it has been empty for minutes.
//
// Nothing is lost between closing and a new message: a job is added before its lane is woken, and the sweep checks every
// lane with work every 2 s. A lane assigned to other workers (lane-assignment.ts) is not opened, whatever wakes it.
import type { Config } from '../../kernel/config.ts'
import { waitAtMost } from '../../kernel/deadline.ts'
import type { Worker } from '../../lanes/bullmq/worker.ts'
import { releaseRead } from '../../lanes/jobs.ts'
import { withTimeout } from '../../redis/errors.ts'
import type { ServedLane } from '../../redis/heartbeats.ts'
import type { SendDeps } from './attempt.ts'
import { openChunksWorker } from './chunk-worker.ts'
import { createInFlightLimits } from './in-flight-limit.ts'
import type { ChunkEnd, ChunkRun } from './send-chunk.ts'
import { type Lane, serveLane } from './serve-lane.ts'

/** How long chunks of a closed lane may take to finish. */
const LEAVING_MS = 90_000

interface OpenLane extends Lane {
  /** Takes up chunks; only once there are some. */
  chunkWorker: Worker | undefined
  chunkAt: number
}

/** Dependencies of serving lanes, besides those of an attempt. */
export interface LanesDeps {
  send: SendDeps
  config: Pick<Config, 'maxInFlight' | 'laneIdleMs'>
  /** Processes a chunk and resolves to how it ended; rejects when Redis is away or full: then the chunk waits a second. */
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
  /** Lanes that were closed while a read was under way, as while Redis is away. The places that it holds are no messages. */
  const closedInRead = new Set<OpenLane>()
  /** Workers of chunks whose lanes were closed and that are finishing. */
  const leaving = new Set<Worker>()
  const limits = createInFlightLimits(config.maxInFlight)
  const stopping = new AbortController()

  function openLane(lane: number, has: 'jobs' | 'chunks'): void {
    if (stopping.signal.aborted || !deps.isMine(lane)) return
    let state = open.get(lane)
    if (state === undefined) {
      const served = serveLane(send, lane, { limits, noteMoved: (run) => deps.noteMoved(lane, run) })
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
    if (state.reading() > 0) closedInRead.add(state)
    state.loop.stop()
    state.inFlightLimit.close()
    state.chunks.close()
    const { chunkWorker } = state
    if (!chunkWorker) return
    leaving.add(chunkWorker)
    await withTimeout(LEAVING_MS, chunkWorker.close())
      .catch(() => chunkWorker.close(true))
      .catch((error: unknown) => log.debug({ lane, err: error }, 'lane.error'))
    leaving.delete(chunkWorker)
  }

  function served(lane: number, { inFlightLimit, slots, reading }: OpenLane): ServedLane {
    const lately = inFlightLimit.answersLately()
    return {
      ...{ lane, inFlight: inFlightLimit.running() - reading(), answerMs: inFlightLimit.answerMs() },
      ...{ p50Ms: lately?.p50, p99Ms: lately?.p99, bound: inFlightLimit.bound(slots.latestAt()) },
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

    /** The open lanes, with the messages that each has in flight here. */
    load: (): { lane: number; inFlight: number }[] =>
      [...open].map(([lane, { inFlightLimit }]) => ({ lane, inFlight: inFlightLimit.running() })),

    /** Closes lanes that others serve now. Messages in flight here are finished here. */
    handOver(lanes: readonly number[]): void {
      for (const lane of lanes) {
        const state = open.get(lane)
        if (state) void closeLane(lane, state)
      }
    },

    /**
     * Closes and opens a lane from which nothing leaves although it could; false when it is not open here. Messages in flight
     * are still finished: each is claimed for one attempt only, whichever worker runs it.
     */
    reopen(lane: number): boolean {
      const silent = open.get(lane)
      if (!silent || stopping.signal.aborted) return false
      void closeLane(lane, silent)
      openLane(lane, silent.chunkWorker ? 'chunks' : 'jobs')
      return true
    },

    /** A report on each open lane. */
    serves: (): ServedLane[] => [...open].map(([lane, state]) => served(lane, state)),

    /** Messages that are being worked on. */
    inFlight: limits.inFlight,

    /** The same without the places that reads under way hold. */
    claimedOrInFlight(): number {
      for (const state of closedInRead) if (state.reading() === 0) closedInRead.delete(state)
      return limits.inFlight() - [...open.values(), ...closedInRead].reduce((sum, { reading }) => sum + reading(), 0)
    },

    /** Closes lanes that have been empty for long enough. */
    async closeIdle(): Promise<void> {
      const now = performance.now()
      const idle = [...open].filter(
        ([, { loop, inFlightLimit, chunkAt }]) =>
          inFlightLimit.running() === 0 && now - Math.max(loop.lastWorkAt(), chunkAt) > config.laneIdleMs,
      )
      await Promise.all(
        idle.map(async ([lane, state]) => {
          if ((await backlog(lane)) === 0 && open.get(lane) === state) await closeLane(lane, state)
        }),
      )
    },

    /** Stops taking work, waits for messages in flight, at most `limitMs`; the sweep finds what is left then. */
    async stop(limitMs: Promise<number>): Promise<void> {
      stopping.abort()
      const limit = limitMs.then((ms) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref()))
      const all = [...[...open.values()].flatMap(({ chunkWorker }) => chunkWorker ?? []), ...leaving]
      for (const { loop, chunks } of open.values()) {
        loop.stop()
        chunks.close()
      }
      await Promise.race([Promise.all([...all.map((worker) => worker.close()), limits.idle()]), limit])
      // Reads that could not be released while Redis was away: nobody is to take this worker for one that died over them.
      const released = [...open.keys()].map((lane) => releaseRead(redis, lane, send.worker).catch(() => {}))
      await waitAtMost(1_000, Promise.all([...released, ...all.map((worker) => worker.close(true))]))
      for (const state of open.values()) closedInRead.add(state)
      open.clear()
    },
  }
}
