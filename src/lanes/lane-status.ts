// How a lane stands: its shape, the same over HTTP and on the command line. What fills it in is control.ts.
import { z } from 'zod'
import { providerNameSchema } from '../accounts/sender-settings.ts'

const count = z.int().nonnegative()
const time = z.iso.datetime()

export const laneStatusSchema = z.strictObject({
  lane: z.int(),
  account: z.int(),
  /** Digits of the sender. */
  number: z.string(),
  name: z.string(),
  provider: providerNameSchema,
  /** Messages per second. */
  rate: z.number(),
  paused: z.boolean(),
  /** Why it is paused; empty while it runs. */
  paused_for: z.string(),
  /** When its cooldown ends; null while there is none. */
  cooldown_until: time.nullable(),
  /** What began the cooldown: a code of the chat product or a word of ours. Empty without one, or when unknown. */
  cooldown_code: z.string(),
  /** The same in a sentence, without numbers. */
  cooldown_for: z.string(),
  waiting: count,
  /** When the message was accepted that has waited longest; null when none waits. */
  oldest_waiting_at: time.nullable(),
  delayed: count,
  active: count,
  /** How often a worker reopened it because nothing left it, within a week of the last time. */
  reopened: count,
  /** Dead letters: jobs that could not be processed. The interface keeps the name of the first version. */
  set_aside: count,
})
export type LaneStatus = z.infer<typeof laneStatusSchema>
