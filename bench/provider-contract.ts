// Requests to the provider of the scenario `numbers`, and its answers.
import { z } from 'zod'
import { WA_IDS } from './wa-ids.ts'

/** Time until the answer, ms: always the same, or lognormal with 5 % below `low` and 5 % above `high`. */
export const answerTimeSchema = z.object({ low: z.number(), high: z.number() })
export type AnswerTime = z.infer<typeof answerTimeSchema>

/** How it answers from now on, and the pace of its numbers (0: no limit), which lateness is measured against. */
export const watchSchema = z.object({ answer: answerTimeSchema, waId: z.enum(WA_IDS), pace: z.number() })
export type Watch = z.infer<typeof watchSchema>

/** Milliseconds, see lateness.ts. */
export const latenessReport = z.object({ p50: z.number(), p99: z.number() })

export const providerReport = z.object({
  /** Messages by number since `watch`. */
  arrivals: z.record(z.string(), z.number()),
  distinct: z.number(),
  twice: z.number(),
  connections: z.number(),
  mostInFlight: z.number(),
})
export type ProviderReport = z.infer<typeof providerReport>

const TYPED = /^(?:lognormal:(\d+),(\d+)|(\d+))$/

/** Reads `300` or `lognormal:200,3000`. */
export const typedAnswerTime = z.string().transform((text, context): AnswerTime => {
  const [, low, high, same] = TYPED.exec(text) ?? []
  if (same !== undefined) return { low: Number(same), high: Number(same) }
  if (Number(low) > 0 && Number(high) > Number(low)) return { low: Number(low), high: Number(high) }
  context.addIssue('must be milliseconds, as 300, or lognormal:200,3000')
  return z.NEVER
})

/** Mean of the answer time, ms. */
export function meanMs({ low, high }: AnswerTime): number {
  if (low === high) return low
  const sigma = (Math.log(high) - Math.log(low)) / (2 * 1.645)
  return Math.sqrt(low * high) * Math.exp(sigma ** 2 / 2)
}
