// Jobs of an endpoint's queue: what it did not take at once, a test, a replay. What it takes at once is told from the
// outbox and is no job.
import { z } from 'zod'

/** `<source>:<entry>:<line>` of an event. */
const ref = z.string().regex(/^\d{1,15}:\d{1,15}-\d{1,10}:\d{1,6}$/)

export const eventJobSchema = z.discriminatedUnion('kind', [
  z.object({
    v: z.literal(1),
    kind: z.literal('deliver'),
    refs: z.array(ref).min(1).max(100),
    /** Times that it was tried and failed. */
    failures: z.number().int().nonnegative(),
  }),
  z.object({ v: z.literal(1), kind: z.literal('test'), at: z.number() }),
  z.object({ v: z.literal(1), kind: z.literal('replay'), replay: z.string().max(40) }),
])
export type EventJob = z.infer<typeof eventJobSchema>
