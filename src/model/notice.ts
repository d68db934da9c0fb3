// What a notice is: the record of an account update, which is what WhatsApp reports of an account, a number or a template. Pure.
import { z } from 'zod'
import { DAY_MS } from '../kernel/time-units.ts'

/** How long notices are kept. */
export const NOTICES_KEPT_MS = 90 * DAY_MS
/** Most notices of one account; the installation's are those of all accounts. */
export const MOST_NOTICES = 1_000
export const MOST_NOTICES_IN_ALL = 10_000
/** Notices of one kind that are kept per minute; further ones are only counted. */
export const MOST_A_MINUTE = 60

const time = z.iso.datetime()
const details = z.record(z.string(), z.union([z.string(), z.number()]))

/** A notice as it is stored: its kind is the field of the webhook, `other` for an unknown one. */
export const noticeSchema = z.object({
  at: z.number().int(),
  received_at: z.number().int(),
  account: z.number().int().nonnegative(),
  kind: z.string(),
  field: z.string(),
  event: z.string().nullable(),
  sentence: z.string(),
  waba_id: z.string().nullable(),
  lane: z.number().int().nullable(),
  template: z.strictObject({ name: z.string(), language: z.string() }).nullable(),
  details,
})
export type Notice = z.infer<typeof noticeSchema>

/** The public form of a notice. */
export const noticeDocumentSchema = z
  .strictObject({
    id: z.string(),
    at: time.describe('When it happened, by WhatsApp’s clock.'),
    received_at: time,
    account: z.int().nullable().describe('Null where nobody knows whose it is: give its senders their `waba_id`.'),
    waba_id: z.string().nullable().describe('Account at WhatsApp that it comes from.'),
    field: z.string().describe('Field of the webhook, such as `account_update`.'),
    event: z.string().nullable().describe('WhatsApp’s own word, such as `PAUSED`.'),
    sender: z.int().nullable().describe('The one sender that it is about; null: the whole account.'),
    template: z.strictObject({ name: z.string(), language: z.string() }).nullable(),
    sentence: z.string(),
    details: details.describe('More words and figures of WhatsApp; of people nothing.'),
    missed: z.int().describe('Notices of its kind before it that came too fast to be kept.'),
  })
  .meta({ id: 'Notice' })
export type NoticeDocument = z.infer<typeof noticeDocumentSchema>

/** Which notices are wanted: of one field, about one sender, about the templates of one name. */
export interface NoticeFilter {
  field?: string | undefined
  sender?: number | undefined
  template?: string | undefined
}
