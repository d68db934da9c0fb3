// The queues of the lanes: adding messages and chunks, waking, pause, counts. Many jobs are added in one step, together with
// the ids of their messages in the index of the lane. Every process opens a queue when it first
// needs it and keeps it; they all share the process's one connection.

import { CHUNK_JOB, type Chunk, chunkJobId } from '../jobs/chunk.ts'
import { SEND_JOB, type SendPayload, storedPayload } from '../jobs/send.ts'
import { acceptedAtMs, type MessageId, messageId, parseMessageId } from '../kernel/message-id.ts'
import { createBatcher } from '../redis/batcher.ts'
import type { Redis } from '../redis/connect.ts'
import { inTime } from '../redis/errors.ts'
import { laneClosedKey, lanePrefix, messageIndexKey, rootKeys } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { LATENESS, SERIES } from './archive/index-segments.ts'
import { type IndexedMessage, indexMessages, packForIndex } from './archive/message-index.ts'
import {
  JOB,
  laneBacklogKeys,
  laneChunkKeys,
  laneChunkLimiterKey,
  laneChunkQueue,
  laneCounterKey,
  laneJobKey,
  laneQueue,
} from './bullmq/layout.ts'
import { openQueue, type Queue } from './bullmq/open-queue.ts'
import { isLaneClosed, LaneClosedError } from './closed-lanes.ts'
import { chunksOn, isLanePaused } from './stats.ts'

/**
 * BullMQ priority of campaign messages; transactional ones have none and always go first. A prioritized job also
 * costs O(log n) to remove, a plain one O(n).
 */
export const CAMPAIGN_PRIORITY = 1

/** A message on its way to its lane. */
export interface LaneMessage {
  id: string
  payload: SendPayload
  /** Earliest delay until it is fetched (ms). */
  delayMs?: number
}

/**
 * Jobs that are made and written in one go. A thousand at once are so much short-lived memory that it outlives its
 * first collection: 75 µs of CPU time per message instead of 65, and other requests wait for all of it.
 */
const AT_ONCE = 100

const roundRobinScript = defineScript(import.meta.url, 'chunk-round-robin')

export type LaneQueues = ReturnType<typeof openLaneQueues>

/** The default of LANEWAY_RETENTION_DAYS. */
const DEFAULT_RETENTION_MS = 30 * 86_400_000

/**
 * The queues of all lanes on one connection. A queue is opened when it is first used and stays open until `close`. New
 * messages stay in the index of their lane for `retentionMs` after their validity.
 */
export function openLaneQueues(redis: Redis, retentionMs = DEFAULT_RETENTION_MS) {
  const open = new Map<string, Queue>()

  const openOnce = (lane: number, name: string): Queue => {
    const queue = open.get(name) ?? openQueue(redis, name, lanePrefix(lane))
    open.set(name, queue)
    return queue
  }

  /** The BullMQ queue of a lane. */
  const queueOf = (lane: number): Queue => openOnce(lane, laneQueue(lane))

  /** The BullMQ queue of the chunks of a lane's campaigns. */
  const chunkQueueOf = (lane: number): Queue => openOnce(lane, laneChunkQueue(lane))

  /** Lifts the rate limit of the lane's chunks. If a cooldown remains, the next chunk sets it again. */
  async function letChunksGo(lane: number): Promise<void> {
    await redis.del(laneChunkLimiterKey(lane))
  }

  async function addToLane(lane: number, messages: readonly LaneMessage[], areNew = true): Promise<void> {
    const indexed = areNew ? messages.map(indexedOf) : []
    const single = indexed.filter(({ run }) => run === undefined)
    const ofCampaigns = indexed.filter(({ run }) => run !== undefined)
    await inTime(redis, async () => {
      // First the index, then the jobs: a process that dies in between leaves ids without messages. Single messages get
      // both in one step; the index of a campaign's is written by a step of its own.
      if (ofCampaigns.length > 0) await indexMessages(redis, lane, ofCampaigns, retentionMs)
      await addJobs(redis, lane, { name: SEND_JOB, jobs: messages.map(laneJobOf), indexed: single }, retentionMs)
    })
    wake(lane)
  }

  /** Messages of one lane that are added in one event-loop tick, a bounded number to a step. */
  const addTogether = createBatcher<LaneMessage, true>(async (_redis, messages) => {
    const [first] = messages
    if (first !== undefined) await addToLane(laneOf(first.id).lane, messages)
    return messages.map(() => true)
  })

  /** Publishes that a lane has work, and marks it for the sweep in case the message is lost. */
  function wake(lane: number, channel: string = rootKeys.wake): void {
    redis.publish(channel, String(lane)).catch(() => {})
    // Refused or lost, the sweep's slow round over all lanes finds the work.
    markLane(redis, lane).catch(() => {})
  }

  /** The same of a lane that has chunks. */
  const wakeChunks = (lane: number): void => wake(lane, rootKeys.wakeChunks)

  return {
    queueOf,
    chunkQueueOf,
    letChunksGo,
    wake: (lane: number): void => wake(lane),
    wakeChunks,

    /**
     * Puts chunks on their lane, in their order and in turn with those of other campaigns. Resolves once they are in
     * Redis; one of `by` that waits there is not added again. None stay on a lane whose sender was removed meanwhile:
     * its campaigns have all ended.
     */
    async addChunks(lane: number, chunks: readonly Chunk[], by: string): Promise<void> {
      const ids = chunks.map((chunk) => chunkJobId(chunk, by))
      const jobs = chunks.map((chunk, i) => ({ name: CHUNK_JOB, data: chunk, opts: { jobId: ids[i] ?? '' } }))
      await inTime(redis, async () => {
        await chunkQueueOf(lane).addBulk(jobs)
        await placeRoundRobin(redis, lane, ids)
      })
      if (await isLaneClosed(redis, lane)) await chunkQueueOf(lane).obliterate({ force: true })
      else wakeChunks(lane)
    },

    /**
     * Puts a message on its lane and wakes the workers. Resolves once it is in Redis; adding the same id again while
     * its job exists changes nothing. The wake comes second: a worker that closes in between counts the lane again,
     * and the sweep finds the job if the wake is missed. A lost PUBLISH delays the message, but never loses it.
     *
     * What is added in the same event-loop tick goes together: at 64 connections that took the producer from
     * 400 to 200 µs of CPU time per message and Redis from 100 to 34. `delayMs`: it is fetched after this long at the
     * earliest. Rejects with a LaneClosedError once the sender was removed: then it is not added.
     */
    async add(id: string, payload: SendPayload, delayMs = 0): Promise<void> {
      const { lane } = laneOf(id)
      await addTogether(redis, lane, { id, payload, delayMs })
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
          const added = addToLane(lane, slice, which === 'new').catch((error: unknown) => {
            if (!(error instanceof LaneClosedError)) throw error
            for (const { id } of slice) refused.add(id)
          })
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
      wake(lane)
      await letChunksGo(lane)
      wakeChunks(lane)
    },

    isPaused: (lane: number): Promise<boolean> => isLanePaused(redis, lane),

    /** Removes the job of a message; rejects while a worker has it. */
    async removeJob({ lane, ulid }: MessageId): Promise<void> {
      await queueOf(lane).remove(messageId(lane, ulid))
    },

    /** Removes what BullMQ keeps of a lane that was closed, dead letters included. Doing it again changes nothing. */
    async remove(lane: number): Promise<void> {
      for (const queue of [queueOf(lane), chunkQueueOf(lane)]) {
        await queue.obliterate()
        open.delete(queue.name)
        await queue.close()
      }
    },

    /**
     * Jobs of the lane by BullMQ's own states, and as `chunked` the places of its chunks: work for a worker, also where
     * nothing is left to send, see `waitingInChunks`.
     */
    async counts(lane: number): Promise<Record<string, number>> {
      const [counts, chunks] = await Promise.all([
        queueOf(lane).getJobCounts('wait', 'prioritized', 'delayed', 'active', 'failed'),
        chunksOn(redis, lane),
      ])
      return { ...counts, chunked: chunks.reduce((sum, { count }) => sum + count, 0) }
    },

    async close(): Promise<void> {
      await Promise.allSettled(Array.from(open.values(), (queue) => queue.close()))
      open.clear()
    },
  }
}

/** Marks the lane for the sweep now. */
export async function markLane(redis: Redis, lane: number): Promise<void> {
  await redis.zadd(rootKeys.dueLanes, 'LT', 0, String(lane))
}

/**
 * Interleaves chunks that were added to the lane with those of other campaigns. A campaign feeds a chunk when one of its own was taken,
 * so an unfair order would persist: a second of one campaign, then a second of the other. Dying before this leaves the new chunks behind
 * all others.
 */
export async function placeRoundRobin(redis: Redis, lane: number, added: readonly string[]): Promise<void> {
  await roundRobinScript(redis, { waiting: laneChunkKeys(lane).chunksWaiting }, { added })
}

const priorityOf = ({ class: of }: SendPayload): number => (of === 'campaign' ? CAMPAIGN_PRIORITY : 0)

/** The job of a message, which waits for its turn or until it is due. */
const laneJobOf = ({ id, payload, delayMs = 0 }: LaneMessage): LaneJob => ({
  ...{ id, timestamp: acceptedAtMs(laneOf(id).ulid), data: JSON.stringify(storedPayload(payload)) },
  ...{ priority: priorityOf(payload), waitMs: Math.ceil(delayMs), notBefore: payload.sendAt ?? 0 },
})

const ULID_LENGTH = 26

/** The entry of a message in the index. */
const indexedOf = ({ id, payload: { to, until, run } }: LaneMessage): IndexedMessage => ({
  // Cheaper than parsing the id once more: this runs for every message.
  ulid: id.slice(-ULID_LENGTH),
  to,
  until,
  run,
})

function laneOf(id: string) {
  const parsed = parseMessageId(id)
  if (!parsed) throw new Error(`not a message id: ${id}`)
  return parsed
}

const addScript = defineScript(import.meta.url, 'lane-add', { names: { JOB, SERIES, LATENESS } })

/** A job that is to wait on its lane. */
export interface LaneJob {
  id: string
  /** JSON. */
  data: string
  /** When the message was accepted (epoch ms). */
  timestamp: number
  /** Delay from now on (whole ms); 0 for none. */
  waitMs: number
  /** Earliest time when it is due (epoch ms); 0 for now. */
  notBefore: number
  /** 0 for one that goes first, else BullMQ's priority. */
  priority: number
}

/**
 * Adds the messages that are to be `indexed` to the lane's index, for `retentionMs` after their validity, then jobs
 * called `name` to its queue, except those that are there. Rejects when Redis is away or full: then none was added, or
 * all were and the answer was lost. Rejects with a LaneClosedError, and adds none, once the lane's sender was removed.
 */
export async function addJobs(
  redis: Redis,
  lane: number,
  { name, jobs, indexed }: { name: string; jobs: readonly LaneJob[]; indexed: readonly IndexedMessage[] },
  retentionMs: number,
): Promise<void> {
  const { waiting, prioritized, delayed } = laneBacklogKeys(lane)
  const said = await addScript(
    redis,
    {
      ...{ waiting, prioritized, delayed, counter: laneCounterKey(lane) },
      ...{ index: messageIndexKey(lane), closed: laneClosedKey(lane) },
    },
    {
      jobs: laneJobKey(lane, ''),
      name,
      ids: jobs.map(({ id }) => id),
      payloads: jobs.map(({ data }) => data),
      times: jobs.map(({ timestamp }) => timestamp),
      waits: jobs.map(({ waitMs }) => waitMs),
      notBefore: jobs.map(({ notBefore }) => notBefore),
      priorities: jobs.map(({ priority }) => priority),
      ...(indexed.length > 0 ? packForIndex(indexed, retentionMs) : {}),
    },
  )
  if (said === 'closed') throw new LaneClosedError(lane)
}
