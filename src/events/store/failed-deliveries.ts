// Deliveries of an endpoint that it has not taken: those that wait for a retry, and those that were given up.

import { type EventJob, eventJobSchema } from '../../jobs/events.ts'
import type { Queue } from '../../queue/open-queue.ts'
import type { Job } from '../../queue/worker.ts'
import type { ReplayOrder } from './replays.ts'

/** Jobs of a queue that are looked through: it holds no more that were given up, and hardly more that wait. */
const MOST_JOBS = 2_000

/** A delivery of which an event happened within the time of the order. */
export interface FailedDelivery {
  job: Job
  data: Extract<EventJob, { kind: 'deliver' }>
}

/** Those within the time of an order. */
export async function failedDeliveries(
  queue: Queue<EventJob>,
  { sinceMs, untilMs }: ReplayOrder,
): Promise<FailedDelivery[]> {
  const jobs: Job[] = await queue.getJobs(['failed', 'delayed'], 0, MOST_JOBS)
  return jobs.flatMap((job) => {
    const { data } = eventJobSchema.safeParse(job.data)
    if (data?.kind !== 'deliver') return []
    const isWithin = data.refs.some((ref) => {
      const at = Number.parseInt(ref.split(':')[1] ?? '', 10)
      return at >= sinceMs && at <= untilMs
    })
    return isWithin ? [{ job, data }] : []
  })
}
