// The definition of a campaign, given when it is created: sender, content, recipients, one start and one end. It has no hours of the day.
import { z } from 'zod'
import { listUpTo, nonEmptyTextUpTo, textUpTo } from '../../kernel/bounded.ts'
import { instantSchema, iso } from '../../kernel/instant.ts'
import { DAY_MS } from '../../kernel/time-units.ts'
import { isVisible } from '../../kernel/visible.ts'
import { marketingRouteSchema } from '../accounts/sender.ts'
import type { State } from '../messages/lifecycle.ts'
import { LIMITS } from '../messages/limits.ts'
import { ONLY_POLICY } from '../templates/template-content.ts'
import { compileComponents, type ValueSourceKind } from './parameters.ts'

/** Characters of a name. */
export const NAME_MOST = 255
const TAGS_MAX = 100
const tagId = z.int().min(1)

/** Contacts by tag, minus those that carry another one of the tags in `except`. */
const contactsSchema = z.strictObject({
  tags: listUpTo(TAGS_MAX, tagId, { min: 1 }),
  except: listUpTo(TAGS_MAX, tagId).default([]),
})

/** Rows of a file that is uploaded; `phone` names the column with the recipient's number. */
const rowsSchema = z.strictObject({
  rows: z.strictObject({ phone: nonEmptyTextUpTo(255).default('phone') }),
})

/** Recipients of an earlier campaign whose message is in one state; only Laneway itself writes this. */
const earlierSchema = z.object({
  campaign: z.string(),
  class: z.enum(['failed', 'unknown', 'not_delivered', 'expired', 'cancelled']),
  /** The fields that the recipients of the earlier one had; the values themselves were frozen then. */
  offer: z.enum(['contact', 'row']),
  /** The first campaign of this series of runs. Older runs do not have it. */
  first: z.string().optional(),
  /** The earlier one sent second messages itself: whom it did not reach may have got a first one from a campaign before it. */
  again: z.literal(true).optional(),
})

const templateSchema = z.object({
  name: z.string(),
  language: z.object({ code: z.string() }),
})

const retryCapped = z
  .strictObject({ times: z.int().min(0).max(7) })
  .describe('How often a person who has had enough marketing (131049) is tried again, each time when that is over.')

/** A campaign as a person defines it. Unknown fields are faults: a typo would go out to everybody. */
export const definitionSchema = z.strictObject({
  name: z
    .string()
    .trim()
    .refine(isVisible, 'must not be empty')
    .pipe(textUpTo(NAME_MOST))
    .optional()
    .describe('What people call it.'),
  sender: nonEmptyTextUpTo(LIMITS.sender).describe(
    'One of the account’s senders, by number in any spelling or by name.',
  ),
  template: z.strictObject({
    name: nonEmptyTextUpTo(LIMITS.templateName),
    language: z.strictObject({
      code: nonEmptyTextUpTo(LIMITS.languageCode),
      policy: z
        .literal(ONLY_POLICY)
        .transform(() => undefined)
        .optional()
        .describe('Changes nothing; clients of the Cloud API write it.'),
    }),
    components: z
      .array(z.unknown())
      .default([])
      .describe('Those of a template message, with `{"from": "contact.name"}` where a value differs.'),
  }),
  recipients: z.union([contactsSchema, rowsSchema], 'expected { "tags": [1, 2] } or { "rows": {} }'),
  valid_until: instantSchema
    .transform((time) => iso(time))
    .optional()
    .describe(
      'Never sent later than this. Without it, the validity of campaign messages counts from start and from each resume.',
    ),
  retry_capped: retryCapped.optional(),
  marketing_route: marketingRouteSchema.optional().describe('In place of that of its sender.'),
})
definitionSchema.register(z.globalRegistry, { id: 'CampaignDefinition' })

/** What a definition may hold: 16 KB of text. The list of campaigns reads it, a page of up to 1,000 at a time. */
export const DEFINITION_MOST = { values: LIMITS.componentValues, characters: 16_384 }

/** The part of a definition that a list of campaigns shows, lenient about older ones. */
export const listedDefinitionSchema = z.object({
  name: z.string().optional(),
  sender: z.string(),
  template: templateSchema,
  recipients: z.union([
    z.object({ tags: z.array(tagId), except: z.array(tagId).default([]) }),
    z.object({ rows: z.object({ phone: z.string() }) }),
    earlierSchema,
  ]),
  valid_until: z.string().optional(),
  retry_capped: z.object({ times: z.int() }).optional(),
  marketing_route: marketingRouteSchema.optional(),
})

/**
 * As it is stored: the campaign may also be a new run for some recipients of an earlier one. Only the shape is checked;
 * the bounds were checked when it was accepted.
 */
export const storedDefinitionSchema = listedDefinitionSchema.extend({
  template: templateSchema.extend({ components: z.array(z.unknown()).default([]) }),
})
export type Definition = z.infer<typeof storedDefinitionSchema>
export type ResumeClass = z.infer<typeof earlierSchema>['class']
export const RESUME_CLASSES = earlierSchema.shape.class.options

/** States of an earlier campaign's messages by the class that a person names. */
export const STATES_OF_CLASS: Readonly<Record<ResumeClass, readonly State[]>> = {
  failed: ['failed'],
  unknown: ['unknown'],
  // Sent, and no delivery was reported since.
  not_delivered: ['sent'],
  expired: ['expired'],
  // For a cancelled campaign also the recipients that it never reached, who have no message.
  cancelled: ['cancelled'],
}

/** Classes whose message in the earlier campaign was certainly not sent, or never made. */
const NOBODY_GOT_IT: readonly ResumeClass[] = ['failed', 'expired', 'cancelled']

/** Whether messages to these recipients may be second ones, as somebody has asked. */
export const maySendAgain = (recipients: Definition['recipients']): boolean =>
  'class' in recipients && (recipients.again === true || !NOBODY_GOT_IT.includes(recipients.class))

/** Which values can be filled in for each recipient. */
export function valueSourceKind(recipients: Definition['recipients']): ValueSourceKind {
  if ('offer' in recipients) return recipients.offer
  return 'tags' in recipients ? 'contact' : 'row'
}

/** The components of a campaign, compiled for the fields of its recipients. */
export const compiledOf = ({
  template,
  recipients,
}: {
  template: { components: unknown[] }
  recipients: Definition['recipients']
}) => compileComponents(template.components, valueSourceKind(recipients))

const count = z.number().int().nonnegative()

export const preflightSchema = z.object({
  /** Epoch ms. */
  checked_at: count,
  /** Those who will get a message. */
  recipients: count,
  /** Those who will not, by reason; all but the excluded are in the file of refused recipients. */
  refused: z.object({
    duplicate: count,
    /** The phone number is missing or impossible. */
    number: count,
    /** A value for the template is missing or does not fit. */
    parameter: count,
    /** The row cannot be read. */
    unreadable: count,
    /** They have opted out. Older reports do not count them. */
    opted_out: count.default(0),
  }),
  /** Contacts that carry an excluded tag. */
  excluded: count,
  /** Of an earlier campaign, and have had enough marketing for now. */
  skipped_capped: count.default(0),
  /** Of an earlier campaign, and were erased since. */
  skipped_erased: count.default(0),
  /** What must be fixed before it can start; empty when it is ready. */
  problems: z.array(z.object({ path: z.string(), message: z.string() })),
  /** What does not keep it from starting, but somebody should know. */
  warnings: z.array(z.object({ path: z.string(), message: z.string() })).default([]),
  /** Files of the gallery that its messages show; one that is not uploaded yet is uploaded before the first of them leaves. */
  files: z.array(z.object({ gallery: z.string(), uploaded: z.boolean() })).default([]),
  /** Messages per second of the lane. */
  rate: z.number(),
  /** How long it takes if nothing else is sent, by the rate of the lane and the limit of its portfolio. */
  seconds: z.number(),
  /** The same in days, rounded up; null: the limit leaves nobody to campaigns, so that it never ends. */
  days: count.nullable(),
  /** To how many people campaigns of the portfolio may write first: at once, and on each later day; null: no limit. */
  people: z.object({ now: count, a_day: count }).nullable(),
  /** How many would expire before their turn if it started now. */
  would_expire: count,
})
export type Preflight = z.infer<typeof preflightSchema>

/** How long a campaign takes at this rate with this many people now and a day, if every message opens a conversation. */
export function durationOf({ recipients, rate, people }: Pick<Preflight, 'recipients' | 'rate' | 'people'>): {
  seconds: number
  days: number | null
} {
  const bySeconds = Math.ceil(recipients / rate)
  const later = people === null ? 0 : Math.max(0, recipients - people.now)
  const most = people?.a_day ?? 0
  if (later > 0 && most === 0) return { seconds: bySeconds, days: null }
  const waits = later === 0 ? 0 : Math.ceil(later / most)
  // Of the last day only what the rate needs.
  const last = later === 0 ? 0 : later - (waits - 1) * most
  const seconds = Math.max(bySeconds, (waits * DAY_MS) / 1_000 + Math.ceil(last / rate))
  return { seconds, days: Math.ceil((seconds * 1_000) / DAY_MS) }
}

/** How many messages expire before their turn, in a campaign that begins `validMs` before their validity ends. */
export function lateOf(
  { recipients, rate, people }: Pick<Preflight, 'recipients' | 'rate' | 'people'>,
  validMs: number,
): number {
  const inTime = Math.floor((rate * Math.max(0, validMs)) / 1_000)
  const allowed =
    people === null ? Number.POSITIVE_INFINITY : people.now + Math.floor(Math.max(0, validMs) / DAY_MS) * people.a_day
  return Math.max(0, recipients - Math.min(inTime, allowed))
}
