// What a person says about a campaign when it is created: from whom, what, to whom, until when.
import { z } from 'zod'
import { textUpTo } from './bounded-text.ts'
import type { Offer } from './campaign-parameters.ts'
import { LIMITS } from './limits.ts'

const TAGS_MAX = 100
const tagsSchema = z.array(z.int().min(1)).max(TAGS_MAX)

/** Contacts by tag, minus those that carry another one of the tags in `except`. */
const contactsSchema = z.object({ tags: tagsSchema.min(1), except: tagsSchema.default([]) })

/** Rows of a file that is uploaded; `phone` names the column with the recipient's number. */
const rowsSchema = z.object({
  rows: z.object({ phone: textUpTo(255).min(1).default('phone') }),
})

/** Recipients of an earlier campaign whose message is in one state; only Laneway itself writes this. */
const earlierSchema = z.object({
  campaign: z.string(),
  class: z.enum(['failed', 'unknown', 'not_delivered']),
  /** What the recipients of the earlier one offered; the values themselves were frozen then. */
  offer: z.enum(['contact', 'row']),
})

export const definitionSchema = z.object({
  /** What people call it. */
  name: z.string().trim().min(1).pipe(textUpTo(255)).optional(),
  /** One of the account's senders, by number in any spelling or by name. */
  sender: z.string().min(1),
  template: z.object({
    name: textUpTo(LIMITS.templateName).min(1),
    language: z.object({ code: z.string().min(1) }),
    /** Those of a template message, with `{"from": "contact.name"}` where a value differs; see campaign-parameters.ts. */
    components: z.array(z.unknown()).default([]),
  }),
  recipients: z.union([contactsSchema, rowsSchema], 'expected { "tags": [1, 2] } or { "rows": {} }'),
  /** Never sent later than this. Without it, the validity of campaign messages counts from start and from each resume. */
  valid_until: z.iso
    .datetime({ offset: true, error: 'expected an ISO 8601 time with its zone, such as 2026-01-31T12:00:00Z' })
    .transform((time) => new Date(time).toISOString())
    .optional(),
})

/** As it is stored: the campaign may also be a new run for some recipients of an earlier one. */
export const storedDefinitionSchema = definitionSchema.extend({
  recipients: z.union([contactsSchema, rowsSchema, earlierSchema]),
})
export type Definition = z.infer<typeof storedDefinitionSchema>
export type ResumeClass = z.infer<typeof earlierSchema>['class']
export const RESUME_CLASSES = earlierSchema.shape.class.options

/** What values can be filled in for each recipient. */
export function offerOf(recipients: Definition['recipients']): Offer {
  if ('offer' in recipients) return recipients.offer
  return 'tags' in recipients ? 'contact' : 'row'
}
