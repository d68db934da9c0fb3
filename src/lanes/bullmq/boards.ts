// Adapters that give the dashboard its queues. bull-board applies formatters only to a part of what it shows, so private data is
// withheld from it altogether.
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import type { Job } from 'bullmq'
import type { Redis } from '../../redis/connect.ts'
import { lanePrefix } from '../../redis/keys.ts'
import { laneQueue } from './layout.ts'
import { openBullQueue } from './open-queue.ts'

/** Jobs on one page of the dashboard at most; it takes any number from the address. */
const PAGE_MAX = 100

/**
 * A lane's queue, for the account that it belongs to. Schedulers hold their jobs' data as it came, logs hold any text,
 * and a flow leads into other queues: Laneway uses none of them, so there is nothing to show.
 */
class LaneBoard extends BullMQAdapter {
  override getJobs(...[statuses, start = 0, end = PAGE_MAX - 1]: Parameters<BullMQAdapter['getJobs']>): Promise<Job[]> {
    return super.getJobs(statuses, start, Math.min(end, start + PAGE_MAX - 1))
  }
  override getJobLogs = async (): Promise<string[]> => []
  override getJobSchedulers = async (): Promise<[]> => []
  override getJobSchedulersCount = async (): Promise<number> => 0
  override getFlowProducer = async (): Promise<null> => null
}

/**
 * A queue that all accounts share: counts by state, and no jobs, because it is unknown whose a job is.
 */
class CountsBoard extends LaneBoard {
  override getJob = async (): Promise<undefined> => undefined
  override getJobs = async (): Promise<Job[]> => []
}

/** The queue of a lane, whose sender has this name. */
export function laneBoard(redis: Redis, lane: number, name: string, description: string): BullMQAdapter {
  const queue = laneQueue(lane)
  const displayName = name === '' ? queue : `${queue} (${name})`
  const opened = openBullQueue(redis, queue, lanePrefix(lane), { toLook: true })
  return new LaneBoard(opened, { readOnlyMode: true, displayName, description })
}

/** A queue that shows its counts and nothing else. */
export function countsBoard(redis: Redis, queue: string, prefix: string): BullMQAdapter {
  const opened = openBullQueue(redis, queue, prefix, { toLook: true })
  return new CountsBoard(opened, { readOnlyMode: true, description: 'all accounts, counts only' })
}
