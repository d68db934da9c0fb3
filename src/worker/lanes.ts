// The lanes that this worker serves. A lane's BullMQ Worker is opened at its first work and closed when it has been
// empty for minutes: 500 idle Workers would cost 500 connections and a thousand commands a second.
//
// Nothing is lost between closing and a new message, because a job is added first and its lane woken second, and
//   - a wake while the lane closes is remembered and opens it again,
//   - after closing the lane is counted once more,
//   - the sweep counts every lane every few seconds, for wakes that were lost, delayed jobs that fell due, and active
//     jobs whose worker died: BullMQ looks for those only while some Worker of the lane is open.
import type { Job, Worker } from 'bullmq'
import type { Config } from '../config.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import type { Log } from '../log.ts'
import { laneQueue } from '../redis/bullmq-layout.ts'
import type { Redis } from '../redis/connect.ts'
import { isRedisAway } from '../redis/errors.ts'
import { lanePrefix } from '../redis/keys.ts'
import { withTimeout } from '../redis/with-timeout.ts'
import { endJob, type JobEnd, openWorker } from './bullmq.ts'

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
 * Messages that one worker has in flight over all lanes, which share it evenly. Without it 500 full lanes had
 * 20,000 requests in flight, each on a connection of its own: 700 MB, and Redis so busy that the producer got no answer
 * within its 2 s. One process manages some 5,000 a second, so this is a fifth of a second of work.
 */
const MOST_AT_ONCE = 1_000
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
/**
 * A message waits this long when Redis refused to write for it; moving it to the delayed ones works on a full Redis.
 */
const REDIS_AWAY_MS = 1_000
/** Workers of a lane that was reopened get this long to end what they have in flight. */
const LEAVING_MS = 90_000
/** Most dead letters that one more of them takes away when they are older than message records live. */
const DEAD_LETTERS_SWEPT = 500

interface OpenLane {
  workers: Worker[]
  /** Messages of it that are being sent. */
  running: number
  /** What lets messages begin that were fetched before its share grew smaller, the first of them first. */
  held: (() => void)[]
  /** Messages begun since a moment. */
  begun: { count: number; sinceMs: number }
  lastWorkAt: number
  closing: boolean
  /** A wake came while it was closing. */
  again: boolean
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
  /** Called when a lane opens. Never rejects. */
  opened: (lane: number) => void
}) {
  const open = new Map<number, OpenLane>()
  /** Workers that were replaced and end what they have in flight. */
  const leaving = new Set<Worker>()
  /** Lanes of which a message is being sent, and how many messages each of them may have in flight. */
  let busy = 0
  let share = deps.config.laneConcurrency
  let stopped = false
  let inFlight = 0

  /**
   * Runs work for a message within the share of its lane. A lane at rest may fetch one message: BullMQ fetches all that
   * it may before it begins with the first, so 500 lanes that get work at once would fetch everything before anybody
   * could tell that they are many.
   */
  async function inItsShare<T>(lane: OpenLane, work: () => Promise<T>): Promise<T> {
    if (lane.running < share) begin(lane)
    else await new Promise<void>((resolve) => lane.held.push(resolve))
    try {
      return await work()
    } finally {
      end(lane)
    }
  }

  function begin(lane: OpenLane): void {
    lane.running += 1
    if (lane.running > 1) return
    busy += 1
    shareOut()
    divideShare(lane)
  }

  function end(lane: OpenLane): void {
    const next = lane.running <= share ? lane.held.shift() : undefined
    if (next) {
      next()
      return
    }
    lane.running -= 1
    if (lane.running > 0) return
    busy -= 1
    shareOut()
    divideShare(lane)
  }

  /** Lets messages begin that were held back, now that the share is larger. */
  function letBegin(lane: OpenLane): void {
    while (lane.running < share && lane.held.length > 0) {
      begin(lane)
      lane.held.shift()?.()
    }
  }

  function divideShare({ workers, running }: OpenLane): void {
    const each = running === 0 ? 1 : Math.max(1, Math.floor(share / workers.length))
    for (const worker of workers) worker.concurrency = each
  }

  /**
   * Halves the share until all busy lanes together are within the limit: it changes seldom, and then for all at once.
   */
  function shareOut(): void {
    let fitting = deps.config.laneConcurrency
    while (fitting > 1 && fitting * busy > MOST_AT_ONCE) fitting = Math.floor(fitting / 2)
    if (fitting === share) return
    share = fitting
    for (const lane of open.values()) {
      if (lane.running === 0) continue
      divideShare(lane)
      letBegin(lane)
    }
  }

  function openLane(lane: number): void {
    if (stopped) return
    const known = open.get(lane)
    if (known) {
      known.lastWorkAt = performance.now()
      if (known.closing) known.again = true
      return
    }
    const now = performance.now()
    const state: OpenLane = {
      workers: [],
      running: 0,
      held: [],
      begun: { count: 0, sinceMs: now },
      lastWorkAt: now,
      closing: false,
      again: false,
    }
    addWorker(lane, state)
    open.set(lane, state)
    deps.opened(lane)
  }

  function addWorker(lane: number, state: OpenLane): void {
    const queue = deps.queues.queueOf(lane)
    const worker = openWorker(
      deps.redis,
      { name: laneQueue(lane), prefix: lanePrefix(lane) },
      async (job, token) => {
        widenIfFast(lane, state)
        inFlight += 1
        try {
          await endJob(await inItsShare(state, () => deps.process(job)), job, token, queue)
        } catch (error) {
          // A Redis that is full refuses claims: the message waits. Failing the job would make a dead letter of it.
          if (!isRedisAway(error)) throw error
          deps.log.warn({ lane, message: job.id, err: error }, 'message.put_off')
          await endJob({ kind: 'waits', ms: REDIS_AWAY_MS }, job, token, queue)
        } finally {
          inFlight -= 1
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
    if (stopped || open.get(lane) !== state) return
    if (state.closing || length >= MOST_WORKERS || perSecond <= length * PER_WORKER_A_SECOND) return
    addWorker(lane, state)
    divideShare(state)
  }

  async function closeLane(lane: number, state: OpenLane): Promise<void> {
    state.closing = true
    try {
      await Promise.all(state.workers.map((worker) => worker.close()))
    } finally {
      // However that ended: a lane that stayed closing would never open again.
      open.delete(lane)
    }
    if (state.again || (await backlog(lane)) > 0) openLane(lane)
  }

  async function backlog(lane: number): Promise<number> {
    const { wait = 0, prioritized = 0, delayed = 0, active = 0 } = await deps.queues.counts(lane)
    return wait + prioritized + delayed + active
  }

  return {
    /** The lane has work: opens it if it is not. */
    wake: openLane,

    isOpen: (lane: number): boolean => open.has(lane),

    /**
     * Replaces the Workers of a lane from which nothing leaves although it could; false when it is not open here. What
     * they have in flight ends as it ends: each message is claimed for one attempt only, whoever runs it.
     */
    reopen(lane: number): boolean {
      const silent = open.get(lane)
      if (!silent || silent.closing || stopped) return false
      open.delete(lane)
      for (const worker of silent.workers) {
        leaving.add(worker)
        withTimeout(LEAVING_MS, worker.close())
          .catch(() => worker.close(true))
          .catch((error: unknown) => deps.log.debug({ lane, err: error }, 'lane.error'))
          .finally(() => leaving.delete(worker))
      }
      openLane(lane)
      return true
    },

    /** Messages that are being worked on. */
    inFlight: (): number => inFlight,

    /** Closes lanes that have been empty for long enough. */
    async closeIdle(): Promise<void> {
      const now = performance.now()
      const idle = [...open].filter(([, lane]) => !lane.closing && now - lane.lastWorkAt > deps.config.laneIdleMs)
      await Promise.all(
        idle.map(async ([lane, state]) => {
          if ((await backlog(lane)) === 0) await closeLane(lane, state)
        }),
      )
    },

    /** Stops taking work, waits for what is in flight, at most `limitMs`; what is left then is found by the sweep. */
    async stop(limitMs: number): Promise<void> {
      stopped = true
      const limit = new Promise<void>((resolve) => setTimeout(resolve, limitMs).unref())
      const all = [...[...open.values()].flatMap(({ workers }) => workers), ...leaving]
      await Promise.race([Promise.all(all.map((worker) => worker.close())), limit])
      await Promise.race([
        Promise.all(all.map((worker) => worker.close(true))),
        new Promise<void>((resolve) => setTimeout(resolve, 1_000).unref()),
      ])
      open.clear()
    },
  }
}
