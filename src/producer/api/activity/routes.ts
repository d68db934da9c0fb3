// Who did what and when.
import { z } from 'zod'
import { activityEntrySchema } from '../../../accounts/activity/entry.ts'
import { route } from '../../route.ts'
import { listOf } from '../answers.ts'
import { pageFields } from '../fields.ts'

const query = z.strictObject({
  limit: pageFields.limit,
  cursor: z
    .string()
    .regex(/^\d{1,15}-\d{1,15}$/, 'expected `next` of the page before')
    .optional(),
})

export const activity = {
  list: route({
    method: 'get',
    path: '/admin/activity',
    summary: 'Lists who did what and when, over HTTP and on the command line, the latest first; kept for 90 days.',
    details: 'An operator that names no account sees the whole installation.',
    access: { in: 'bearer', permission: 'admin', withoutAccount: true },
    query,
    body: { as: 'ignored' },
    answers: { 200: listOf(activityEntrySchema) },
    examples: [
      {
        query: { limit: '2' },
        status: 200,
        answer: {
          status: true,
          data: [
            {
              at: '2026-11-22T10:00:00.000Z',
              actor: { key_id: 'key_0f1e2d3c4b5a', key_name: 'console of Ada' },
              account: 1,
              action: 'lane.pause',
              target: '1',
              detail: null,
              request_id: '876b615f-6d2d-4f67-844a-d64879f2f9f2',
            },
            {
              at: '2026-11-22T09:00:00.000Z',
              actor: { cli: 'ada' },
              account: 1,
              action: 'key.revoke',
              target: 'key_1b2c3d4e5f60',
              detail: null,
              request_id: null,
            },
          ],
          next: null,
        },
      },
    ],
  }),
}
