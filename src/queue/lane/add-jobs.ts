// Adding the jobs of messages to their lane, many in one step in Redis, together with the ids of the messages in the
// lane's index. Where the process may die: the step is all or nothing, and adding the same messages again is safe.
import { type IndexedMessage, packForIndex } from '../../messages/store/message-index.ts'
import type { Redis } from '../../redis/connect.ts'
import { laneClosedKey, messageIndexKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { laneBacklogKeys, laneJobKey, laneMetaKey, laneTakeKeys } from '../layout.ts'
import { LaneClosedError } from './close.ts'

const addScript = defineScript(import.meta.url, 'lane-add')

/** A job that is to wait on its lane. */
export interface LaneJob {
  id: string
  /** JSON. */
  data: string
  /** When the message was accepted (epoch ms). */
  timestamp: number
  /** How long it is put off from now on (ms), whole; 0 when it is not. */
  waitMs: number
  /** When it is due at the earliest (epoch ms); 0 when it may go at once. */
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
  const { marker, counter } = laneTakeKeys(lane)
  const said = await addScript(
    redis,
    {
      ...{ waiting, prioritized, delayed, marker, counter, meta: laneMetaKey(lane) },
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
