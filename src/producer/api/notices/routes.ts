// What WhatsApp has told of accounts, numbers and templates.
import { noticeDocumentSchema } from '../../../notices/notice.ts'
import { page } from '../answers.ts'
import { routesOf } from '../define.ts'
import { pageQuery } from '../fields.ts'

const route = routesOf({ access: { in: 'bearer', permission: 'admin', withoutAccount: true } })

const notice = {
  ...{ id: 'message_template_status_update.q2Jm0f3yYk1nR8sT5uVwXz', at: '2026-11-22T10:00:00.000Z' },
  ...{ received_at: '2026-11-22T10:00:01.000Z', account: 1, waba_id: '102290129340398' },
  ...{ field: 'message_template_status_update', event: 'PAUSED', sender: null },
  template: { name: 'gift_note', language: 'en_US' },
  ...{ sentence: 'Template gift_note (en_US) is PAUSED.', details: { reason: 'LOW_QUALITY' }, missed: 0 },
}

export const notices = {
  list: route.get(
    '/admin/notices',
    'Lists what WhatsApp has told of the account, its numbers and templates, the latest first.',
    {
      details:
        'The latest 1,000 of 90 days; of a kind that comes in a flood the first 60 of each minute. An operator that names no ' +
        'account sees the whole installation.',
      query: pageQuery(120),
      answers: page(noticeDocumentSchema),
      examples: [{ query: { limit: '1' }, data: [notice] }],
    },
  ),
}
