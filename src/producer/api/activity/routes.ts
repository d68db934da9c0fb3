// The audit log: who did what and when.
import { z } from 'zod'
import { auditLogEntrySchema } from '../../../accounts/audit-log.ts'
import { page } from '../answers.ts'
import { routesOf } from '../define.ts'
import { pageFields } from '../fields.ts'

const route = routesOf({ access: { in: 'bearer', permission: 'admin', withoutAccount: true } })
const cursor = z.string().regex(/^\d{1,15}-\d{1,15}$/, 'expected `next` of the page before')

const entry = {
  at: '2026-11-22T10:00:00.000Z',
  actor: { key_id: 'key_0f1e2d3c4b5a', key_name: 'console of Ada' },
  account: 1,
  action: 'lane.pause',
  target: '1',
  detail: null,
  request_id: '876b615f-6d2d-4f67-844a-d64879f2f9f2',
}
const typed = { actor: { cli: 'ada' }, action: 'key.revoke', target: 'key_1b2c3d4e5f60', request_id: null }

export const activity = {
  list: route.get(
    '/admin/activity',
    'Lists who did what and when, over HTTP and on the command line, the latest first.',
    {
      details: 'Kept for 90 days. An operator that names no account sees the whole installation.',
      query: z.strictObject({ limit: pageFields.limit, cursor: cursor.optional() }),
      answers: page(auditLogEntrySchema),
      examples: [{ query: { limit: '2' }, data: [entry, { ...entry, ...typed, at: '2026-11-22T09:00:00.000Z' }] }],
    },
  ),
}
