// The schema of a campaign document, the same over HTTP, on the command line and in the client. describe.ts fills it in.
import { z } from 'zod'
import { marketingRouteSchema } from '../../model/accounts/sender.ts'
import { preflightSchema, RESUME_CLASSES } from '../../model/campaigns/definition.ts'
import { CAMPAIGN_STATES } from '../../model/campaigns/lifecycle.ts'
import { LANE_WAIT_REASONS } from '../../model/lanes/lane-status.ts'
import type { State } from '../../model/messages/lifecycle.ts'
import { RULE_WAIT_REASONS } from '../../model/portfolio.ts'

const count = z.int().nonnegative()
const time = z.iso.datetime()
const tag = z.int().positive()

/** The result of the latest preflight, and when the campaign would end. */
const preflightDocumentSchema = z.strictObject({
  ...preflightSchema.shape,
  checked_at: time,
  refused: preflightSchema.shape.refused.strict(),
  problems: z.array(z.strictObject({ path: z.string(), message: z.string() })),
  estimated_end: time,
})
preflightDocumentSchema.register(z.globalRegistry, { id: 'CampaignPreflight' })

/** How many recipients are in each state; the sum is `total`. */
const shares = {
  queued: count,
  sending: count,
  unconfirmed: count,
  sent: count,
  delivered: count,
  read: count,
  failed: count,
  expired: count,
  cancelled: count,
  unknown: count,
} satisfies Record<State, z.ZodType>

const recipientsSchema = z.union([
  z.strictObject({ tags: z.array(tag), except: z.array(tag) }),
  z.strictObject({ rows: z.strictObject({ phone: z.string() }) }),
  // A new run for those of an earlier campaign whose messages are in one state.
  z.strictObject({
    campaign: z.string(),
    class: z.enum(RESUME_CLASSES),
    offer: z.enum(['contact', 'row']),
    first: z.string().optional().describe('The campaign that was run first.'),
    again: z
      .literal(true)
      .optional()
      .describe(
        'The earlier campaign sent second messages itself, so that these are possible duplicates whatever the class.',
      ),
  }),
])

export const campaignDocumentSchema = z.strictObject({
  id: z.string(),
  name: z.string().nullable(),
  state: z.enum(CAMPAIGN_STATES),
  reason: z.string().nullable().describe('Why it is paused.'),
  waits: z
    .strictObject({
      why: z.enum([...LANE_WAIT_REASONS, ...RULE_WAIT_REASONS]),
      until: time.nullable(),
      sentence: z.string(),
    })
    .nullable()
    .describe('Why nothing of it leaves although it runs.'),
  sender: z.string().nullable().describe('Digits of the sender; null when it is gone.'),
  template: z.strictObject({
    name: z.string(),
    language: z.string(),
    components: z
      .array(z.unknown())
      .optional()
      .describe('As they were given, with where each value comes from; a list of campaigns leaves them out.'),
  }),
  recipients: recipientsSchema,
  has_rows: z.boolean(),
  created_at: time,
  scheduled_at: time.nullable(),
  started_at: time.nullable(),
  ended_at: time.nullable(),
  valid_until: time.nullable(),
  retry_capped: z.strictObject({ times: count }).describe('Waves to people who have had enough marketing.'),
  marketing_route: marketingRouteSchema.nullable().describe('Where its messages go; null: as its sender says by then.'),
  preflight: preflightDocumentSchema.optional(),
  progress: z.strictObject({
    total: count,
    ...shares,
    delivered_total: count.describe('Whose phone has the message, read or not: `delivered` and `read` together.'),
    replied: count.describe(
      'Who have answered; counted within seconds, once each, whatever the state of their message.',
    ),
    capped: count.describe('Part of failed: they have had enough marketing for now.'),
    held: count.describe('Part of sent: WhatsApp holds them to see how people like the template.'),
    rate_per_second: z.number().nonnegative(),
    held_to: z.number().nullable().describe('Throttled by the provider: held to so many per second.'),
    seconds_left: z.number().nonnegative().nullable(),
  }),
})
campaignDocumentSchema.register(z.globalRegistry, { id: 'Campaign' })
export type CampaignDescription = z.infer<typeof campaignDocumentSchema>

/** What a run again would do, exact. */
export const runPlanSchema = z.strictObject({
  class: z.enum(RESUME_CLASSES),
  matched: count.describe('Recipients of the campaign whose message is in the class.'),
  complete: z.boolean().describe('False: the list is so long that only its beginning was checked.'),
  recipients: count.describe('Those who would get a message.'),
  refused: preflightSchema.shape.refused.strict().describe('Those who would not, by reason, such as `opted_out`.'),
  skipped_capped: count.describe('They have had enough marketing for now.'),
  skipped_erased: count.describe('They were erased since.'),
  problems: z.array(z.strictObject({ path: z.string(), message: z.string() })).describe('What would block it.'),
  earlier: z
    .string()
    .nullable()
    .describe(
      'The campaign that was made for the same class before: another one sends to all of them again, because the class is that of ' +
        'the campaign that is resumed, whatever happened since.',
    ),
})
runPlanSchema.register(z.globalRegistry, { id: 'CampaignRunPlan' })
export type RunPlan = z.infer<typeof runPlanSchema>
