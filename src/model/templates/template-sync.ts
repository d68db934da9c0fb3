// The public form of a sync of templates. Pure.
import { z } from 'zod'

const time = z.iso.datetime().nullable()
const count = z.int().nonnegative()

/** The public form of a sync: the one under way, or the result of the last one. */
export const templateSyncDocumentSchema = z
  .strictObject({
    waba_id: z.string().describe('The account at WhatsApp.'),
    state: z.enum(['waiting', 'running', 'done', 'failed']),
    problem: z
      .strictObject({ code: z.string(), sentence: z.string() })
      .nullable()
      .describe('Why it waits or failed; `throttled`: WhatsApp throttles the requests.'),
    asked_at: time,
    began_at: time,
    ended_at: time,
    again_at: time.describe('When it goes on, after a problem; otherwise within the hour.'),
    listed: count.describe('Templates in the list so far; the other counts are those of the same list.'),
    added: count,
    changed: count,
    removed: count.describe('Not in the list any more, and removed.'),
    kept_deleted: count.describe('Not in the list any more, and kept as `DELETED` because a campaign names them.'),
    not_sendable: count.describe('With a part that Laneway cannot fill in.'),
    unreadable: count.describe('Entries that are no templates.'),
    of_another: count.describe('Left out: another account at WhatsApp of this account has one of the same name.'),
  })
  .meta({ id: 'TemplateSync' })
export type TemplateSyncDocument = z.infer<typeof templateSyncDocumentSchema>
