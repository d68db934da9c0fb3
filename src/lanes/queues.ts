// The queues of the lanes: adding a message, pace, pause, counts. Every process opens a queue when it first needs it
// and keeps it; they all share the process's one connection.
import type { Queue } from 'bullmq'
import { z } from 'zod'
import { SEND_JOB, type SendPayload } from '../jobs/send.ts'
import { acceptedAtMs, parseMessageId } from '../messages/message-id.ts'
import { flowOf } from '../messages/pace.ts'
import { JOB, laneJobKey, laneQueue } from '../redis/bullmq-layout.ts'
import type { Redis } from '../redis/connect.ts'
import { lanePrefix, rootKeys } from '../redis/keys.ts'
import { inTime, openQueue } from '../redis/open-queue.ts'
import { markLane } from './due-lanes.ts'

/**
 * BullMQ priority of campaign messages; transactional ones have none and always go first. A prioritized job also
 * costs O(log n) to remove, a plain one O(n).
 */
export const CAMPAIGN_PRIORITY = 1

/** A message on its way to its lane. */
export interface LaneMessage {
  id: string
  payload: SendPayload
}

/**
 * Jobs that are made and written in one go. A thousand at once are so much short-lived memory that it outlives its
 * first collection: 75 µs of CPU time per message instead of 65, and other requests wait for all of it.
 */
const AT_ONCE = 100

export type LaneQueues = ReturnType<typeof openLaneQueues>

/** The queues of all lanes on one connection. A queue is opened when it is first used and stays open until `close`. */
export function openLaneQueues(redis: Redis) {
  const open = new Map<number, Queue>()
  /** What waits for the end of this turn of the event loop, by lane: one broken lane must not harm the others. */
  const gathered = new Map<number, { messages: LaneMessage[]; added: Promise<void> }>()

  /** The BullMQ queue of a lane. */
  function queueOf(lane: number): Queue {
    const known = open.get(lane)
    if (known) return known
    const queue = openQueue(redis, laneQueue(lane), lanePrefix(lane))
    open.set(lane, queue)
    return queue
  }

  async function addToLane(lane: number, messages: readonly LaneMessage[]): Promise<void> {
    await inTime(redis, () => queueOf(lane).addBulk(messages.map(jobOf)))
    wake(lane)
  }

  /** Publishes that a lane has work, and marks it for the sweep, which finds it should the message be lost. */
  function wake(lane: number): void {
    redis.publish(rootKeys.wake, String(lane)).catch(() => {})
    // Refused or lost, the sweep's slow round over all lanes finds the work.
    markLane(redis, lane).catch(() => {})
  }

  return {
    queueOf,
    wake,

    /**
     * Puts a message on its lane and wakes the workers. Resolves once it is in Redis; adding the same id again while
     * its job exists changes nothing. The wake comes second: a worker that closes in between counts the lane again,
     * and one that misses the wake finds the job in its sweep, so a lost PUBLISH delays and loses nothing.
     *
     * What is added in the same turn of the event loop goes together: at 64 connections that took the producer from
     * 400 to 200 µs of CPU time per message and Redis from 100 to 34.
     */
    add(id: string, payload: SendPayload): Promise<void> {
      const { lane } = laneOf(id)
      const known = gathered.get(lane)
      if (known) {
        known.messages.push({ id, payload })
        return known.added
      }
      const messages = [{ id, payload }]
      const added = new Promise((endOfTurn) => setImmediate(endOfTurn)).then(() => {
        gathered.delete(lane)
        return addToLane(lane, messages)
      })
      gathered.set(lane, { messages, added })
      return added
    },

    /**
     * The same for many, in one round trip per lane. It is not atomic: when it rejects, any of them may have been
     * added. Adding all of them again is safe.
     */
    async addMany(messages: readonly LaneMessage[]): Promise<void> {
      const lanes = new Map<number, LaneMessage[]>()
      for (const message of messages) {
        const { lane } = laneOf(message.id)
        lanes.set(lane, lanes.get(lane) ?? [])
        lanes.get(lane)?.push(message)
      }
      const adding: Promise<void>[] = []
      let made = 0
      for (const [lane, ofLane] of lanes) {
        for (let from = 0; from < ofLane.length; from += AT_ONCE) {
          const slice = ofLane.slice(from, from + AT_ONCE)
          if (made >= AT_ONCE) {
            await new Promise((resolve) => setImmediate(resolve))
            made = 0
          }
          made += slice.length
          const added = addToLane(lane, slice)
          // It may fail before all are made, when nobody waits for it yet; whoever called hears of it below.
          added.catch(() => {})
          adding.push(added)
        }
      }
      await Promise.all(adding)
    },

    /**
     * How fast workers fetch messages of a lane; the claim paces what leaves. Whatever of the window before is left is
     * dropped: at one message a minute it could hold a faster lane back for as long.
     */
    async setPace(lane: number, ratePerSecond: number): Promise<void> {
      const { max, durationMs } = flowOf(ratePerSecond)
      await queueOf(lane).setGlobalRateLimit(max, durationMs)
      await queueOf(lane).removeRateLimitKey()
    },

    /**
     * Sets the pace of a lane that has none, as when a process died right after it had added the sender, or another
     * one.
     */
    async ensurePace(lane: number, ratePerSecond: number): Promise<void> {
      const { max, durationMs } = flowOf(ratePerSecond)
      const known = await queueOf(lane).getGlobalRateLimit()
      if (known?.max !== max || known.duration !== durationMs) await this.setPace(lane, ratePerSecond)
    },

    async pause(lane: number): Promise<void> {
      await queueOf(lane).pause()
    },

    async resume(lane: number): Promise<void> {
      await queueOf(lane).resume()
      wake(lane)
    },

    isPaused: (lane: number): Promise<boolean> => queueOf(lane).isPaused(),

    /** Removes what BullMQ keeps of a lane that has nothing to do, its dead letters included. */
    async remove(lane: number): Promise<void> {
      await queueOf(lane).obliterate()
    },

    /** Jobs of the lane by BullMQ's own states. */
    counts: (lane: number): Promise<Record<string, number>> =>
      queueOf(lane).getJobCounts('wait', 'prioritized', 'delayed', 'active', 'failed'),

    async close(): Promise<void> {
      await Promise.allSettled([...open.values()].map((queue) => queue.close()))
      open.clear()
    },
  }
}

/** Which of these messages of a lane have a job that was dead-lettered, in their order. */
export async function deadJobs(redis: Redis, lane: number, ids: readonly string[]): Promise<boolean[]> {
  if (ids.length === 0) return []
  const pipeline = redis.pipeline()
  for (const id of ids) pipeline.hexists(laneJobKey(lane, id), JOB.failedReason)
  const replies = (await pipeline.exec()) ?? []
  return replies.map(([error, isDead]) => {
    if (error) throw error
    return isDead === 1
  })
}

/** Which of these messages of a lane have a job that was not dead-lettered: it is sent some day. In their order. */
export async function waitingJobs(redis: Redis, lane: number, ids: readonly string[]): Promise<boolean[]> {
  if (ids.length === 0) return []
  const pipeline = redis.pipeline()
  for (const id of ids) pipeline.hmget(laneJobKey(lane, id), JOB.name, JOB.failedReason)
  const replies = (await pipeline.exec()) ?? []
  return replies.map(([error, fields]) => {
    if (error) throw error
    const [name, failedReason] = jobFields.parse(fields)
    return name !== null && failedReason === null
  })
}

const jobFields = z.tuple([z.string().nullable(), z.string().nullable()])

/** The BullMQ job of a message. */
function jobOf({ id, payload }: LaneMessage) {
  const isCampaign = payload.class === 'campaign'
  const timestamp = acceptedAtMs(laneOf(id).ulid)
  return {
    name: SEND_JOB,
    data: payload,
    opts: { jobId: id, timestamp, ...(isCampaign ? { priority: CAMPAIGN_PRIORITY } : {}) },
  }
}

function laneOf(id: string) {
  const parsed = parseMessageId(id)
  if (!parsed) throw new Error(`not a message id: ${id}`)
  return parsed
}
