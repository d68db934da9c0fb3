// The job `erase`: forgets a person. It names the record of what was asked for, which outlives the job; whom it is about
// stands there only until it is done.
import { z } from 'zod'

export const ERASURE_QUEUE = 'erasures'
export const ERASURE_JOB = 'erase'

export const erasurePayloadSchema = z.object({ v: z.literal(1), job: z.string().min(1).max(40) })
export type ErasurePayload = z.infer<typeof erasurePayloadSchema>
