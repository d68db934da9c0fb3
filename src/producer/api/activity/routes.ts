// The audit log: who did what and when.
import { z } from 'zod'
import { auditLogEntrySchema } from '../../../accounts/audit-log.ts'
import { page } from '../answers.ts'
import { routesOf } from '../define.ts'
import { pageFields } from '../fields.ts'

const route = routesOf({ access: { in: 'bearer', permission: 'admin', withoutAccount: true } })
const cursor = z.string().regex(/^\d{1,15}-\d{1,15}$/, 'expected `next` of the page before')

export const activity = {
  list: route.get(
    '/admin/activity',
    'Lists who did what and when, over HTTP and on the command line, the latest first.',
    {
      details: 'Kept for 90 days. An operator that names no account sees the whole installation.',
      query: z.strictObject({ limit: pageFields.limit, cursor: cursor.optional() }),
      answers: page(auditLogEntrySchema),
      examples: [{ query: { limit: '2' } }],
    },
  ),
}
