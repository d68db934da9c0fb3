// Schemas of the lists of lanes and of dead letters, the same over HTTP and on the command line (control.ts).
import { z } from 'zod'
import { providerNameSchema } from '../accounts/sender.ts'
import { CAMPAIGNS_WAIT_REASONS } from '../portfolio.ts'

const count = z.int().nonnegative()
const time = z.iso.datetime()

export const laneStatusSchema = z.strictObject({
  lane: z.int(),
  account: z.int(),
  number: z.string().describe('Digits of the sender.'),
  name: z.string(),
  provider: providerNameSchema,
  rate: z.number().describe('Messages per second.'),
  granted_rate: z
    .number()
    .describe('Messages per second that the provider takes from the number, as far as WhatsApp has reported.'),
  paused: z.boolean(),
  paused_for: z.string().describe('Why it is paused; empty while it runs.'),
  paused_by: z
    .string()
    .describe('Who paused it: the name of a key, a person on the command line, or Laneway; empty when not known.'),
  paused_at: time
    .nullable()
    .describe('Since when it is paused, however often it was paused since; null while it runs, and when not known.'),
  cooldown_until: time.nullable().describe('When its cooldown ends; null while there is none.'),
  cooldown_code: z
    .string()
    .describe('What began the cooldown: a code of WhatsApp or a word of ours. Empty without one, or when unknown.'),
  cooldown_for: z.string().describe('The same in a sentence, without numbers.'),
  campaigns_wait: z
    .strictObject({ why: z.enum(CAMPAIGNS_WAIT_REASONS), until: time, sentence: z.string() })
    .nullable()
    .describe(
      'Why campaigns of it send nothing by a rule of WhatsApp, while other messages go on; null while they may.',
    ),
  waiting: count,
  oldest_waiting_at: time
    .nullable()
    .describe('When the message that has waited longest was accepted; null when none waits.'),
  delayed: count,
  active: count,
  reopened: count.describe('How often a worker reopened it because nothing left it, within a week of the last time.'),
  set_aside: count.describe('Dead letters: jobs that could not be processed.'),
})
laneStatusSchema.register(z.globalRegistry, { id: 'Lane' })
export type LaneStatus = z.infer<typeof laneStatusSchema>

export const deadLetterSchema = z.strictObject({
  id: z.string().describe('Of the message.'),
  failed_at: time.nullable(),
  reason: z.string().describe('Why it could not be processed; without numbers.'),
})
deadLetterSchema.register(z.globalRegistry, { id: 'DeadLetter' })
export type DeadLetter = z.infer<typeof deadLetterSchema>

/** Why nothing of a lane leaves (cooldown.ts). */
export const LANE_WAIT_REASONS = ['lane_paused', 'lane_cooldown'] as const
