// Requests to the sink, and its answers.
import { z } from 'zod'

/** What it keeps of each message: `arrivals` for the times at which they come. */
export const watchSchema = z.object({ latency: z.boolean(), opaque: z.boolean(), arrivals: z.boolean().default(false) })

export const sinkReport = z.object({
  count: z.number(),
  /** Milliseconds since `watch` at which the hundredth, two hundredth… message had come. */
  everyHundredthAtMs: z.array(z.number()),
  /** Milliseconds. */
  latencies: z.array(z.number()),
  opaque: z.array(z.string()),
  /** Epoch ms by the clock of the machine. */
  arrivals: z.array(z.number()),
})
export type SinkReport = z.infer<typeof sinkReport>
