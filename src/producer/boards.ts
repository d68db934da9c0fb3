// What the dashboard may learn of a queue. bull-board runs its formatters over some of what it shows and not over the
// rest, so whatever must not be seen is not handed to it at all.
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import type { Queue } from '../queue/open-queue.ts'
import type { Job } from '../queue/worker.ts'

/** Jobs on one page of the dashboard at most; it takes any number from the address. */
const PAGE_MAX = 100

/**
 * A lane's queue, for the account that it belongs to. Schedulers hold their jobs' data as it came, logs hold any text,
 * and a flow leads into other queues: Laneway uses none of them, so there is nothing to show.
 */
export class LaneBoard extends BullMQAdapter {
  override getJobs(...[statuses, start = 0, end = PAGE_MAX - 1]: Parameters<BullMQAdapter['getJobs']>): Promise<Job[]> {
    return super.getJobs(statuses, start, Math.min(end, start + PAGE_MAX - 1))
  }
  override getJobLogs = async (): Promise<string[]> => []
  override getJobSchedulers = async (): Promise<[]> => []
  override getJobSchedulersCount = async (): Promise<number> => 0
  override getFlowProducer = async (): Promise<null> => null
}

/** A queue that all accounts share: how many jobs stand where, and no job. Whose a job is cannot be seen from outside. */
export class CountsBoard extends LaneBoard {
  constructor(queue: Queue) {
    super(queue, { readOnlyMode: true, description: 'all accounts, counts only' })
  }
  override getJob = async (): Promise<undefined> => undefined
  override getJobs = async (): Promise<Job[]> => []
}
