// The lanes that this worker serves. A lane's BullMQ Worker is opened at its first work and closed when it has been
// empty for minutes: 500 idle Workers would cost 500 connections and a thousand commands a second.
//
// Nothing is lost between closing and a new message, because a job is added first and its lane woken second, and
//   - a wake while the lane closes is remembered and opens it again,
//   - after closing the lane is counted once more,
//   - the sweep looks at every lane with work every 2 s, for wakes that were lost, delayed jobs that fell due, and active
//     jobs whose worker died: BullMQ looks for those only while some Worker of the lane is open.
//
// A lane that other workers are to serve (lane-duty.ts) is not opened, whoever wakes it.
import { setMaxListeners } from 'node:events'
import type { Worker } from 'bullmq'
import type { Config } from '../config.ts'
import { withTimeout } from '../redis/with-timeout.ts'
import { createLaneShares, type LaneShare } from './lane-share.ts'
import { type LaneWork, openChunksWorker, openMessagesWorker } from './lane-workers.ts'

/**
 * A BullMQ Worker fetches one message after the other, about a thousand a second here, and begins with none of them
 * before it has fetched all that it may. Faster lanes get more than one: with one, messages at 1,700 a second lay there
 * for 20 ms (median) while the process was at 40 % of a core.
 */
const PER_WORKER_A_SECOND = 300
const MOST_WORKERS = 6
/** How long messages are counted before a lane is called fast. */
const COUNTED_MS = 250
/** Workers of a lane that was reopened get this long to end what they have in flight. */
const LEAVING_MS = 90_000

interface OpenLane {
  workers: Worker[]
  /** Takes up chunks; only once there are some. */
  chunks: Worker | undefined
  share: LaneShare
  /** Messages begun since a moment. */
  begun: { count: number; sinceMs: number }
  lastWorkAt: number
  closing: boolean
  /** A wake came while it was closing: for jobs, or for chunks as well. */
  again: 'jobs' | 'chunks' | undefined
}

export type Lanes = ReturnType<typeof createLanes>

/** Starts with no lane open. */
export function createLanes(
  deps: LaneWork & {
    config: Pick<Config, 'laneConcurrency' | 'laneIdleMs'>
    /** Whether this worker is to serve the lane now. */
    isMine: (lane: number) => boolean
    /** Called when a lane opens. Never rejects. */
    opened: (lane: number) => void
  },
) {
  const open = new Map<number, OpenLane>()
  /** Workers that were replaced and end what they have in flight. */
  const leaving = new Set<Worker>()
  const shares = createLaneShares(deps.config.laneConcurrency)
  const stopping = new AbortController()
  // Every chunk that waits for its pace listens for as long, two on each lane: Node would take eleven for a leak.
  setMaxListeners(0, stopping.signal)

  function divideShare({ workers, share }: OpenLane): void {
    const each = Math.max(1, Math.floor(share.fetches() / workers.length))
    for (const worker of workers) worker.concurrency = each
  }

  function openLane(lane: number, has: 'jobs' | 'chunks' = 'jobs'): void {
    if (stopping.signal.aborted || !deps.isMine(lane)) return
    const known = open.get(lane)
    if (known) {
      known.lastWorkAt = performance.now()
      if (known.closing) known.again = known.again === 'chunks' ? 'chunks' : has
      else if (has === 'chunks') known.chunks ??= openChunks(lane, known)
      return
    }
    const now = performance.now()
    const state: OpenLane = {
      workers: [],
      chunks: undefined,
      share: shares.add(() => divideShare(state)),
      begun: { count: 0, sinceMs: now },
      lastWorkAt: now,
      closing: false,
      again: undefined,
    }
    addWorker(lane, state)
    if (has === 'chunks') state.chunks = openChunks(lane, state)
    open.set(lane, state)
    deps.opened(lane)
  }

  const openChunks = (lane: number, state: OpenLane): Worker =>
    openChunksWorker(deps, lane, {
      ...{ share: state.share, stopping: stopping.signal },
      works: () => {
        state.lastWorkAt = performance.now()
      },
    })

  const addWorker = (lane: number, state: OpenLane): void =>
    void state.workers.push(
      openMessagesWorker(deps, lane, { share: state.share, begins: () => widenIfFast(lane, state) }),
    )

  /** Counts a message that begins, and gives its lane one more Worker when they come faster than it can fetch. */
  function widenIfFast(lane: number, state: OpenLane): void {
    const now = performance.now()
    state.lastWorkAt = now
    state.begun.count += 1
    const { count, sinceMs } = state.begun
    if (now - sinceMs < COUNTED_MS) return
    state.begun = { count: 0, sinceMs: now }
    const perSecond = (count / (now - sinceMs)) * 1_000
    const { length } = state.workers
    if (stopping.signal.aborted || open.get(lane) !== state) return
    if (state.closing || length >= MOST_WORKERS || perSecond <= length * PER_WORKER_A_SECOND) return
    addWorker(lane, state)
    divideShare(state)
  }

  async function closeLane(lane: number, state: OpenLane): Promise<void> {
    state.closing = true
    try {
      await Promise.all(workersOf(state).map((worker) => worker.close()))
    } finally {
      // However that ended: a lane that stayed closing would never open again.
      open.delete(lane)
      state.share.leave()
    }
    const { jobs, chunked } = await backlog(lane)
    if (state.again === 'chunks' || chunked > 0) openLane(lane, 'chunks')
    else if (state.again === 'jobs' || jobs > 0) openLane(lane)
  }

  const workersOf = ({ workers, chunks }: OpenLane): Worker[] => [...workers, ...(chunks ? [chunks] : [])]

  async function backlog(lane: number): Promise<{ jobs: number; chunked: number }> {
    const { wait = 0, prioritized = 0, delayed = 0, active = 0, chunked = 0 } = await deps.queues.counts(lane)
    return { jobs: wait + prioritized + delayed + active, chunked }
  }

  return {
    /** The lane has work: opens it if it is not. */
    wake: (lane: number): void => openLane(lane),

    /** The lane has chunks: the same. */
    wakeChunks: (lane: number): void => openLane(lane, 'chunks'),

    isOpen: (lane: number): boolean => open.has(lane),

    /** How many are open. */
    count: (): number => open.size,

    /** Those that are open, with the messages that each has in flight here. */
    load: (): { lane: number; inFlight: number }[] =>
      [...open].map(([lane, { share }]) => ({ lane, inFlight: share.running() })),

    /** Closes lanes that others serve now. What they have in flight here ends here. */
    handOver(lanes: readonly number[]): void {
      for (const lane of lanes) {
        const state = open.get(lane)
        if (!state || state.closing) continue
        closeLane(lane, state).catch((error: unknown) => deps.log.debug({ lane, err: error }, 'lane.error'))
      }
    },

    /**
     * Replaces the Workers of a lane from which nothing leaves although it could; false when it is not open here. What
     * they have in flight ends as it ends: each message is claimed for one attempt only, whoever runs it.
     */
    reopen(lane: number): boolean {
      const silent = open.get(lane)
      if (!silent || silent.closing || stopping.signal.aborted) return false
      open.delete(lane)
      silent.share.leave()
      for (const worker of workersOf(silent)) {
        leaving.add(worker)
        withTimeout(LEAVING_MS, worker.close())
          .catch(() => worker.close(true))
          .catch((error: unknown) => deps.log.debug({ lane, err: error }, 'lane.error'))
          .finally(() => leaving.delete(worker))
      }
      openLane(lane, silent.chunks ? 'chunks' : 'jobs')
      return true
    },

    /** Messages that are being worked on. */
    inFlight: shares.inFlight,

    /** Closes lanes that have been empty for long enough. */
    async closeIdle(): Promise<void> {
      const now = performance.now()
      const idle = [...open].filter(
        ([, lane]) => !lane.closing && lane.share.running() === 0 && now - lane.lastWorkAt > deps.config.laneIdleMs,
      )
      await Promise.all(
        idle.map(async ([lane, state]) => {
          const { jobs, chunked } = await backlog(lane)
          if (jobs + chunked === 0) await closeLane(lane, state)
        }),
      )
    },

    /** Stops taking work, waits for what is in flight, at most `limitMs`; what is left then is found by the sweep. */
    async stop(limitMs: Promise<number>): Promise<void> {
      stopping.abort()
      const limit = limitMs.then((ms) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref()))
      const all = [...[...open.values()].flatMap(workersOf), ...leaving]
      await Promise.race([Promise.all([...all.map((worker) => worker.close()), shares.idle()]), limit])
      await Promise.race([
        Promise.all(all.map((worker) => worker.close(true))),
        new Promise<void>((resolve) => setTimeout(resolve, 1_000).unref()),
      ])
      open.clear()
    },
  }
}
