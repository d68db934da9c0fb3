// The job `requeue`: sends every message again that a filter finds. It names the record of what was asked for, which
// outlives the job and says how far it is.
import { z } from 'zod'

export const REQUEUE_QUEUE = 'requeues'
export const REQUEUE_JOB = 'requeue'

export const requeuePayloadSchema = z.object({ v: z.literal(1), job: z.string().min(1).max(40) })
export type RequeuePayload = z.infer<typeof requeuePayloadSchema>
