// The job `poll-status`: asks the provider of one lane for the status of every message whose next poll is due. One job
// per lane follows all its messages, however many: the times stand in a sorted set, and the job puts itself back for
// the earliest of them.
import { z } from 'zod'

export const POLL_QUEUE = 'status-polls'
export const POLL_JOB = 'poll-status'

export const pollPayloadSchema = z.object({ v: z.literal(1), lane: z.number().int().positive() })
export type PollPayload = z.infer<typeof pollPayloadSchema>

/** One waiting poll per lane and second: adding it again within that second changes nothing. */
export const pollJobId = (lane: number, dueMs: number): string => `poll_${lane}_${Math.ceil(dueMs / 1_000)}`
