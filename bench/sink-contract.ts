// What the sink is asked and answers.
import { z } from 'zod'

export const watchSchema = z.object({ latency: z.boolean(), opaque: z.boolean() })

export const sinkReport = z.object({
  count: z.number(),
  /** Milliseconds since `watch` at which the hundredth, two hundredth… message had come. */
  everyHundredthAtMs: z.array(z.number()),
  /** Milliseconds. */
  latencies: z.array(z.number()),
  opaque: z.array(z.string()),
})
export type SinkReport = z.infer<typeof sinkReport>
