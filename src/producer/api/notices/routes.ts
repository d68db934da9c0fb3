// What WhatsApp has told of accounts, numbers and templates.
import { noticeDocumentSchema } from '../../../notices/notice.ts'
import { page } from '../answers.ts'
import { routesOf } from '../define.ts'
import { pageQuery } from '../fields.ts'

const route = routesOf({ access: { in: 'bearer', permission: 'admin', withoutAccount: true } })

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
      examples: [{ query: { limit: '1' } }],
    },
  ),
}
