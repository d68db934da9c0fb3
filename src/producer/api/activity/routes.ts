// The audit log: who did what and when; and notices of WhatsApp about accounts, numbers and templates.
import { z } from 'zod'
import { textUpTo } from '../../../kernel/bounded.ts'
import { auditLogEntrySchema } from '../../../model/accounts/audit-log.ts'
import { noticeDocumentSchema } from '../../../model/notice.ts'
import { page } from '../answers.ts'
import { routesOf } from '../define.ts'
import { pageFields, pageQuery, senderField } from '../fields.ts'

const route = routesOf({ access: { in: 'bearer', permission: 'admin', withoutAccount: true } })
const cursor = z
  .string()
  .regex(/^\d{1,15}-\d{1,15}$/, 'expected `next` of the page before')
  .describe('`next` of the page before; the latest unless given.')

export const activity = {
  list: route.get(
    '/admin/activity',
    'Lists who did what and when, over HTTP and on the command line, the latest first.',
    {
      mcp: 'read',
      details: 'Kept for 90 days. An operator that names no account sees the whole installation.',
      query: z.strictObject({ limit: pageFields.limit, cursor: cursor.optional() }),
      answers: page(auditLogEntrySchema),
      examples: [{ query: { limit: '2' } }],
    },
  ),
}

export const notices = {
  list: route.get(
    '/admin/notices',
    'Lists notices of WhatsApp about the account, its numbers and templates, the latest first.',
    {
      mcp: 'read',
      details:
        'The latest 1,000 of 90 days, and of one kind at most the first 60 of each minute. An operator that names no account ' +
        'sees the whole installation. With a filter a page may be short and still not be the last.',
      query: pageQuery(120).extend({
        field: textUpTo(64).optional().describe('Only of this field, such as `account_update`.'),
        sender: senderField.optional().describe('Only about this sender, by its id, number or name.'),
        template: textUpTo(512).optional().describe('Only about the templates of this name.'),
      }),
      answers: page(noticeDocumentSchema),
      examples: [{ query: { limit: '1' } }],
    },
  ),
}
