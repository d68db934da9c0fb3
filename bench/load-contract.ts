// Requests to the load generator, and its answers.
import { z } from 'zod'
import { trafficSchema } from './traffic.ts'

export const runSchema = z.object({
  port: z.number(),
  connections: z.number(),
  traffic: trafficSchema,
  /** Number of the first request. */
  from: z.number(),
  /** Ends after this many requests, or after this long, whichever comes first. */
  requests: z.number().optional(),
  ms: z.number(),
  /** Requests per second of the open form; the closed form without. */
  rate: z.number().optional(),
  /** Whether to hand back the bodies of the answers. */
  keep: z.boolean(),
})

export const loadReport = z.object({
  /** Messages whose acceptance was answered; of a batch, those that got an id. */
  messages: z.number(),
  /** HTTP status → how many requests were not answered 2xx. */
  refused: z.record(z.string(), z.number()),
  /** The first of them, to say what went wrong. */
  firstRefusal: z.string(),
  /** Messages answered within the time, per second. */
  perSecond: z.number(),
  bodies: z.array(z.string()),
})
export type LoadReport = z.infer<typeof loadReport>
