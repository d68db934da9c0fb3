// Polls the status of sent messages on wires without webhooks. Each lane has a sorted set of messages by the time of their next poll, and
// one job across all workers that polls those that are due (poll-lane.ts) and is then added again for the earliest remaining message.
//
// Where the process may die, and what happens then:
// - while it polls: BullMQ gives the job to another worker within 15 s; the polls in flight are due again by then.
// - between the end of the job and adding it again: the sweep notices that polls are late.

import { POLL_JOB, POLL_QUEUE, type PollPayload, pollJobId, pollPayloadSchema } from '../../jobs/background.ts'
import { waitAtMost } from '../../kernel/deadline.ts'
import { delayedUntil, sharedDelayedKey } from '../../lanes/bullmq/layout.ts'
import { openQueue, promote } from '../../lanes/bullmq/open-queue.ts'
import { endOwn, openWorker } from '../../lanes/bullmq/worker.ts'
import { pollCooldownMs, untilNextPollMs } from '../../lanes/messages/poll-list.ts'
import { FIRST_POLL_MS } from '../../model/messages/poll-schedule.ts'
import { runningRedisClock } from '../../redis/clock.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { sharedQueuePrefix } from '../../redis/keys.ts'
import { createLanePoller, LANES_AT_ONCE, type PollDeps } from './poll-lane.ts'

/** A job that is due this much later than wanted is brought forward. */
const LATE_MS = 500
/** Retry delay for a lane whose server is away, or takes no writes. */
const REDIS_AWAY_MS = 1_000

export type StatusPolls = ReturnType<typeof startStatusPolls>

/**
 * Starts polling lanes whose provider sends no webhooks. There is one job for each lane with messages to poll.
 */
export function startStatusPolls(deps: PollDeps) {
  const { redis, log } = deps
  const prefix = sharedQueuePrefix(POLL_QUEUE)
  const queue = openQueue<PollPayload>(redis, POLL_QUEUE, prefix)
  const nowMs = runningRedisClock(redis, sharedDelayedKey(POLL_QUEUE))
  const poller = createLanePoller(deps)
  const worker = openWorker(
    redis,
    { name: POLL_QUEUE, prefix },
    async (job, token) => {
      const payload = pollPayloadSchema.safeParse(job.data)
      if (!payload.success) return endOwn(DEAD_LETTER, job, token)
      try {
        await poller.poll(payload.data.lane)
      } catch (error) {
        // On a cluster the lane may be on another server than this queue, and that server away or short of replicas.
        if (!isRedisAway(error)) throw error
        log.debug({ lane: payload.data.lane, err: error }, 'poll.error')
        return endOwn({ kind: 'waits', ms: REDIS_AWAY_MS }, job, token)
      }
      return endOwn(DONE, job, token)
    },
    {
      concurrency: LANES_AT_ONCE,
      lockDuration: 10_000,
      stalledInterval: 5_000,
      // A worker that dies again and again was more likely killed from outside; the sweep would add the job again.
      maxStalledCount: 5,
    },
    (error) => log.debug({ err: error }, 'poll.error'),
  )
  worker.on('failed', (job, error) => log.error({ job: job?.id, reason: error.message }, 'poll.dead_lettered'))
  // Only now that the job is gone can it be added again. What is sent meanwhile adds it as well.
  worker.on('completed', (job) => {
    const payload = pollPayloadSchema.safeParse(job.data)
    if (payload.success) inBackground(payload.data.lane, goOn(payload.data.lane))
  })

  /** When this process last added the job of a lane: most sends need not add it again. */
  const asked = new Map<number, number>()
  const underWay = new Set<Promise<void>>()

  function inBackground(lane: number, work: Promise<void>): void {
    const over = work
      .catch((error: unknown) => log.warn({ lane, err: error }, 'poll.not_scheduled'))
      .finally(() => underWay.delete(over))
    underWay.add(over)
  }

  async function goOn(lane: number): Promise<void> {
    const waitMs = await untilNextPollMs(redis, lane)
    if (waitMs !== undefined) await add(lane, waitMs)
    else asked.delete(lane)
  }

  async function add(lane: number, inMs: number): Promise<void> {
    // BullMQ counts the delay from the timestamp.
    const due = { delay: inMs, timestamp: await nowMs() }
    const options = { jobId: pollJobId(lane), ...due, removeOnComplete: true, removeOnFail: true }
    await queue.add(POLL_JOB, { v: 1, lane }, options)
  }

  /** Makes sure that the lane has a job, due in `inMs` or as soon as the lane's polls may leave again. */
  async function comesIn(lane: number, inMs: number): Promise<void> {
    await add(lane, inMs)
    const id = pollJobId(lane)
    const [cooldownMs, heldBack] = await Promise.all([
      pollCooldownMs(redis, lane),
      redis.zscore(sharedDelayedKey(POLL_QUEUE), id),
    ])
    if (heldBack === null || delayedUntil(heldBack) <= (await nowMs()) + Math.max(inMs, cooldownMs) + LATE_MS) return
    await promote(queue, id)
  }

  /**
   * A job that is on none of BullMQ's lists never runs, nor does one that failed and was kept, as one whose options are gone; and
   * each keeps another of its id from being added.
   */
  async function removeStray(lane: number): Promise<void> {
    const job = await queue.getJob(pollJobId(lane))
    const state = await job?.getState()
    if (state === 'unknown' || state === 'failed') await job?.remove()
  }

  return {
    /** A message of the lane was sent: schedules its first poll in a second. Never rejects; the sweep repeats it. */
    follow(lane: number): void {
      const now = performance.now()
      const last = asked.get(lane)
      if (last !== undefined && last > now) return
      asked.set(lane, now + FIRST_POLL_MS)
      inBackground(lane, comesIn(lane, FIRST_POLL_MS))
    },

    /**
     * Repairs late polls of a lane: adds its job if it has none, and brings it forward if it waits without a reason. A slow
     * upstream, or a spent budget, makes polls late as well: then this changes nothing, because a second job would not make
     * them faster. Never rejects.
     */
    pickUp(lane: number): void {
      inBackground(
        lane,
        removeStray(lane).then(() => comesIn(lane, 0)),
      )
    },

    /** Takes no more lanes, finishes the polls in flight, at most for `limitMs`; other workers continue. */
    async stop(limitMs: number): Promise<void> {
      poller.stop()
      const ended = worker.close().then(() => Promise.all(underWay))
      await waitAtMost(limitMs, ended)
      await queue.close()
    },
  }
}

const DONE = { kind: 'done' } as const
const DEAD_LETTER = { kind: 'dead_letter', reason: 'payload does not parse' } as const
