// The lanes that this worker serves. A lane's BullMQ Worker is opened at its first work and closed when it has been
// empty for minutes: 500 idle Workers would cost 500 connections and a thousand commands a second.
//
// Nothing is lost between closing and a new message, because a job is added first and its lane woken second, and
//   - a wake while the lane closes is remembered and opens it again,
//   - after closing the lane is counted once more,
//   - the sweep counts every lane every few seconds, for wakes that were lost, delayed jobs that fell due, and active
//     jobs whose worker died: BullMQ looks for those only while some Worker of the lane is open.
//
// A lane that other workers are to serve (lane-duty.ts) is not opened, whoever wakes it.
import type { Job, Worker } from 'bullmq'
import type { Config } from '../config.ts'
import { chunkSchema } from '../jobs/chunk.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import type { Log } from '../log.ts'
import { laneChunkQueue, laneQueue } from '../redis/bullmq-layout.ts'
import type { Redis } from '../redis/connect.ts'
import { isRedisAway } from '../redis/errors.ts'
import { lanePrefix } from '../redis/keys.ts'
import { withTimeout } from '../redis/with-timeout.ts'
import { endJob, giveBack, type JobEnd, openWorker, unrecoverable } from './bullmq.ts'
import { createLaneShares, type LaneShare } from './lane-share.ts'
import type { ChunkEnd, ChunkRun } from './send-chunk.ts'

/**
 * A worker that dies leaves its jobs locked for this long, and they are found at the next check after that. BullMQ
 * skips a check when the one before is not quite as long ago, so that two intervals may pass: with 3 s jobs were taken
 * up again 9.7 to 16.7 s after a kill -9, and it is to be 15 s at most.
 */
const LOCK_MS = 10_000
const STALLED_CHECK_MS = 2_000
/** BullMQ must make no dead letters by itself: it cannot tell the one that kills its workers from its neighbours. */
const NO_LIMIT = 1_000_000
/**
 * A BullMQ Worker fetches one message after the other, about a thousand a second here, and begins with none of them
 * before it has fetched all that it may. Faster lanes get more than one: with one, messages at 1,700 a second lay there
 * for 20 ms (median) while the process was at 40 % of a core.
 */
const PER_WORKER_A_SECOND = 300
const MOST_WORKERS = 6
/** How long messages are counted before a lane is called fast. */
const COUNTED_MS = 250
/** While a lane waits, its pace may change or a person may end the wait: it is looked at this often. */
const LOOK_AGAIN_MS = 1_000
const NO_PACE = { max: 1_000_000_000, duration: 1 }
/**
 * A message waits this long when Redis refused to write for it; moving it to the delayed ones works on a full Redis.
 */
const REDIS_AWAY_MS = 1_000
/** Workers of a lane that was reopened get this long to end what they have in flight. */
const LEAVING_MS = 90_000
/** Most dead letters that one more of them takes away when they are older than message records live. */
const DEAD_LETTERS_SWEPT = 500

/** Chunks of a lane that one process has in hand: the next one is claimed from while the last of one is under way. */
const CHUNKS_AT_ONCE = 2

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

/**
 * Starts with no lane open. `process` does the work of one job and says how it ended; when it rejects because Redis is
 * away or full, the job waits a second, and any other error makes a dead letter of it.
 */
export function createLanes(deps: {
  redis: Redis
  config: Pick<Config, 'laneConcurrency' | 'laneIdleMs' | 'retentionMs'>
  log: Log
  queues: LaneQueues
  process: (job: Job) => Promise<JobEnd>
  /** The same for a chunk. */
  processChunk: (run: ChunkRun) => Promise<ChunkEnd>
  /** Whether this worker is to serve the lane now. */
  isMine: (lane: number) => boolean
  /** Called when a lane opens. Never rejects. */
  opened: (lane: number) => void
}) {
  const open = new Map<number, OpenLane>()
  /** Workers that were replaced and end what they have in flight. */
  const leaving = new Set<Worker>()
  const shares = createLaneShares(deps.config.laneConcurrency)
  const stopping = new AbortController()

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

  function openChunks(lane: number, state: OpenLane): Worker {
    const queue = deps.queues.chunkQueueOf(lane)
    const worker = openWorker(
      deps.redis,
      { name: laneChunkQueue(lane), prefix: lanePrefix(lane) },
      async (job, token) => {
        state.lastWorkAt = performance.now()
        const chunk = chunkSchema.safeParse(job.data)
        // Its recipients are found missing, and fed again.
        if (!chunk.success) throw unrecoverable('not a chunk')
        const run = { lane, chunk: chunk.data, crashes: job.stalledCounter, room: state.share.room }
        try {
          const end = await deps.processChunk({ ...run, stopping: stopping.signal })
          await (end.kind === 'back' ? giveBack(job, token) : endJob(end, job, token, queue))
        } catch (error) {
          if (!isRedisAway(error)) throw error
          deps.log.warn({ lane, chunk: job.id, err: error }, 'chunk.put_off')
          await endJob({ kind: 'waits', ms: REDIS_AWAY_MS }, job, token, queue)
        } finally {
          state.lastWorkAt = performance.now()
        }
      },
      {
        concurrency: CHUNKS_AT_ONCE,
        lockDuration: LOCK_MS,
        stalledInterval: STALLED_CHECK_MS,
        maxStalledCount: NO_LIMIT,
        maximumRateLimitDelay: LOOK_AGAIN_MS,
        // BullMQ lets a queue be held back only if it has a limit.
        limiter: NO_PACE,
        removeOnComplete: { count: 0 },
        // A chunk holds nothing that its campaign does not know.
        removeOnFail: { count: 0 },
      },
      (error) => deps.log.debug({ lane, err: error }, 'lane.error'),
    )
    worker.on('failed', (job, error) => deps.log.error({ lane, chunk: job?.id, err: error }, 'chunk.failed'))
    return worker
  }

  function addWorker(lane: number, state: OpenLane): void {
    const queue = deps.queues.queueOf(lane)
    const worker = openWorker(
      deps.redis,
      { name: laneQueue(lane), prefix: lanePrefix(lane) },
      async (job, token) => {
        widenIfFast(lane, state)
        try {
          await endJob(await state.share.run(() => deps.process(job)), job, token, queue)
        } catch (error) {
          // A Redis that is full refuses claims: the message waits. Failing the job would make a dead letter of it.
          if (!isRedisAway(error)) throw error
          deps.log.warn({ lane, message: job.id, err: error }, 'message.put_off')
          await endJob({ kind: 'waits', ms: REDIS_AWAY_MS }, job, token, queue)
        }
      },
      {
        concurrency: 1,
        lockDuration: LOCK_MS,
        stalledInterval: STALLED_CHECK_MS,
        maxStalledCount: NO_LIMIT,
        maximumRateLimitDelay: LOOK_AGAIN_MS,
        removeOnComplete: { count: 0 },
        removeOnFail: { age: deps.config.retentionMs / 1_000, limit: DEAD_LETTERS_SWEPT },
      },
      (error) => deps.log.debug({ lane, err: error }, 'lane.error'),
    )
    worker.on('failed', (job, error) => {
      deps.log.error({ lane, message: job?.id, reason: error.message }, 'message.dead_lettered')
    })
    state.workers.push(worker)
  }

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
