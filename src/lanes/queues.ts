// The queues of the lanes: adding messages, waking, pause, counts. Every process opens a queue when it first
// needs it and keeps it; they all share the process's one connection.

import type { SendPayload } from '../jobs/send.ts'
import { type MessageId, messageId } from '../kernel/message-id.ts'
import { DAY_MS } from '../kernel/time-units.ts'
import { createBatcher } from '../redis/batcher.ts'
import type { Redis } from '../redis/connect.ts'
import { lanePrefix } from '../redis/keys.ts'
import { addingNew, addToLane, type LaneMessage, laneOf } from './add-messages.ts'
import { laneQueue } from './bullmq/layout.ts'
import { openQueue, type Queue } from './bullmq/open-queue.ts'
import { LaneClosedError } from './closed-lanes.ts'
import { countPlaces } from './places.ts'
import { isLanePaused } from './stats.ts'
import { wakeLane } from './wake.ts'

/**
 * Jobs that are made and written in one go. A thousand at once are so much short-lived memory that it outlives its
 * first collection: 75 µs of CPU time per message instead of 65, and other requests wait for all of it.
 */
const AT_ONCE = 100

export type LaneQueues = ReturnType<typeof openLaneQueues>

/** The default of LANEWAY_RETENTION_DAYS. */
const DEFAULT_RETENTION_MS = 30 * DAY_MS

/**
 * The queues of all lanes on one connection. A queue is opened when it is first used and stays open until `close`. New
 * messages stay in the index of their lane for `retentionMs` after their validity.
 */
export function openLaneQueues(redis: Redis, retentionMs = DEFAULT_RETENTION_MS) {
  const open = new Map<number, Queue>()

  /** The BullMQ queue of a lane. */
  const queueOf = (lane: number): Queue => {
    const queue = open.get(lane) ?? openQueue(redis, laneQueue(lane), lanePrefix(lane))
    open.set(lane, queue)
    return queue
  }

  /** New messages of one lane that are added in one event-loop tick, a bounded number to a step. */
  const addTogether = createBatcher(addingNew(retentionMs))

  return {
    queueOf,
    wake: (lane: number): void => wakeLane(redis, lane),

    /**
     * Puts a message on its lane and wakes the workers. Resolves once it is in Redis; adding the same id again while
     * its job exists changes nothing. The wake comes second: a worker that closes in between counts the lane again,
     * and the sweep finds the job if the wake is missed. A lost PUBLISH delays the message, but never loses it.
     *
     * What is added in the same event-loop tick goes together: at 64 connections that took the producer from
     * 400 to 200 µs of CPU time per message and Redis from 100 to 34. `waitMs`: it is fetched after this long at the
     * earliest. Rejects with a LaneClosedError once the sender was removed: then it is not added.
     */
    async add(id: string, payload: SendPayload, waitMs = 0): Promise<void> {
      const { lane } = laneOf(id)
      await addTogether(redis, lane, { id, payload, waitMs })
    },

    /**
     * The same for many, in one round trip per lane. It is not atomic: when it rejects, any of them may have been
     * added. Adding all of them again is safe. `again`: they were accepted before, and are in the index. Resolves to
     * the ids of those that were not added, since their sender was removed.
     */
    async addMany(messages: readonly LaneMessage[], which: 'new' | 'again' = 'new'): Promise<ReadonlySet<string>> {
      const refused = new Set<string>()
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
          const added = addToLane(redis, lane, slice, { retentionMs, areNew: which === 'new' }).catch(
            (error: unknown) => {
              if (!(error instanceof LaneClosedError)) throw error
              for (const { id } of slice) refused.add(id)
            },
          )
          // Marks an early rejection as handled; the caller gets the error below.
          added.catch(() => {})
          adding.push(added)
        }
      }
      await Promise.all(adding)
      return refused
    },

    async pause(lane: number): Promise<void> {
      await queueOf(lane).pause()
    },

    async resume(lane: number): Promise<void> {
      await queueOf(lane).resume()
      wakeLane(redis, lane)
    },

    isPaused: (lane: number): Promise<boolean> => isLanePaused(redis, lane),

    /** Removes the job of a message; rejects while a worker has it. */
    async removeJob({ lane, ulid }: MessageId): Promise<void> {
      await queueOf(lane).remove(messageId(lane, ulid))
    },

    /** Removes what BullMQ keeps of a lane that was closed, dead letters included. Doing it again changes nothing. */
    async remove(lane: number): Promise<void> {
      const queue = queueOf(lane)
      await queue.obliterate()
      open.delete(lane)
      await queue.close()
    },

    /** Jobs of the lane by BullMQ's own states, and its places of campaigns. */
    async counts(lane: number): Promise<Record<string, number>> {
      const [counts, places] = await Promise.all([
        queueOf(lane).getJobCounts('wait', 'prioritized', 'delayed', 'active', 'failed'),
        countPlaces(redis, lane),
      ])
      return { ...counts, places }
    },

    async close(): Promise<void> {
      await Promise.allSettled(Array.from(open.values(), (queue) => queue.close()))
      open.clear()
    },
  }
}
