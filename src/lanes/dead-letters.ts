// The dead letters of a lane, as people list them.
import { cutText } from '../kernel/cut-text.ts'
import { isoOrNull } from '../kernel/instant.ts'
import { masked } from '../kernel/masked.ts'
import type { DeadLetter } from '../model/lanes/lane-status.ts'
import type { LaneQueues } from './queues.ts'

/** A reason may be the sentence of any error. */
const REASON_MAX = 300

/**
 * Up to `limit` dead letters of the lane, the latest first, leaving out `offset`. A job that cannot be read is left out;
 * `isLast`: whether there are no more.
 */
export async function deadLettersOf(
  queues: LaneQueues,
  lane: number,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ letters: DeadLetter[]; isLast: boolean }> {
  // One more than asked for, to know whether there is another page.
  const jobs = await queues.queueOf(lane).getJobs(['failed'], offset, offset + limit, false)
  const letters = jobs.slice(0, limit).flatMap((job): DeadLetter[] => {
    if (!job?.id) return []
    const failedAt = isoOrNull(job.finishedOn)
    return [{ id: job.id, failed_at: failedAt, reason: cutText(masked(job.failedReason ?? ''), REASON_MAX) }]
  })
  return { letters, isLast: jobs.length <= limit }
}
