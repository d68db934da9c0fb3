// The job `poll-status`: asks the provider of one lane for the status of every message whose next poll is due. A lane
// has one such job at most, however many messages it follows and however many workers there are: the job's id is the
// lane's, and the times of the polls are in a sorted set.
import { z } from 'zod'

export const POLL_QUEUE = 'status-polls'
export const POLL_JOB = 'poll-status'

export const pollPayloadSchema = z.object({ v: z.literal(1), lane: z.number().int().positive() })
export type PollPayload = z.infer<typeof pollPayloadSchema>

/** Adding the job of a lane that has one changes nothing. */
export const pollJobId = (lane: number): string => `poll_${lane}`
