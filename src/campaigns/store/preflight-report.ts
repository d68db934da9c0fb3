// What a preflight writes into the campaign's record.
import { z } from 'zod'

const count = z.number().int().nonnegative()

export const preflightSchema = z.object({
  /** Epoch ms. */
  checked_at: count,
  /** Those who will get a message. */
  recipients: count,
  /** Those who will not, by reason; each of them is in the file of refused recipients, but for the excluded. */
  refused: z.object({
    duplicate: count,
    /** The phone number is missing or impossible. */
    number: count,
    /** A value for the template is missing or does not fit. */
    parameter: count,
    /** The row cannot be read. */
    unreadable: count,
    /** They want no advertising of the account. Reports of before do not count them. */
    opted_out: count.default(0),
  }),
  /** Contacts that carry an excluded tag. */
  excluded: count,
  /** What must be fixed before it can start; empty when it is ready. */
  problems: z.array(z.object({ path: z.string(), message: z.string() })),
  /** Messages per second of the lane. */
  rate: z.number(),
  /** How long the lane needs for them, when nothing else is sent. */
  seconds: z.number(),
  /** How many would come to their turn only when they are not valid any more, if it started now. */
  would_expire: count,
})
export type Preflight = z.infer<typeof preflightSchema>

/** How many come to their turn only when their message is not valid any more, of a campaign that begins `validMs` before. */
export const lateOf = ({ recipients, rate }: Pick<Preflight, 'recipients' | 'rate'>, validMs: number): number =>
  Math.max(0, recipients - Math.floor((rate * Math.max(0, validMs)) / 1_000))
