// The dead letters of a lane, for people: which messages could not be processed, since when and why.
import { z } from 'zod'
import { masked } from '../messages/masked.ts'
import type { LaneQueues } from '../queue/lane/queues.ts'

export const deadLetterSchema = z.strictObject({
  id: z.string().describe('Of the message.'),
  failed_at: z.iso.datetime().nullable(),
  reason: z.string().describe('Why it could not be processed; without numbers.'),
})
deadLetterSchema.register(z.globalRegistry, { id: 'DeadLetter' })
export type DeadLetter = z.infer<typeof deadLetterSchema>

/** A reason may be the sentence of any error. */
const REASON_MAX = 300

/**
 * Up to `limit` dead letters of the lane, the latest first, leaving out `offset`. A job that cannot be read is left out;
 * `isLast` says whether there are no more.
 */
export async function deadLettersOf(
  queues: LaneQueues,
  lane: number,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ letters: DeadLetter[]; isLast: boolean }> {
  const queue = queues.queueOf(lane)
  // One more than asked for tells whether there is another page.
  const jobs = await queue.getJobs(['failed'], offset, offset + limit, false)
  const letters = jobs.slice(0, limit).flatMap((job): DeadLetter[] => {
    if (!job?.id) return []
    const failedAt = job.finishedOn === undefined ? null : new Date(job.finishedOn).toISOString()
    return [{ id: job.id, failed_at: failedAt, reason: masked(job.failedReason ?? '').slice(0, REASON_MAX) }]
  })
  return { letters, isLast: jobs.length <= limit }
}
