// notices: what WhatsApp has told of accounts, numbers and templates.
import { NO_ACCOUNT } from '../accounts/permissions.ts'
import type { NoticeDocument } from '../notices/notice.ts'
import { readNotices } from '../notices/store/notices.ts'
import { type Columns, clockTime, listed } from './print.ts'
import { accountId, limitOption } from './values.ts'
import { option, type Verb, verb } from './verb.ts'

const COLUMNS: Columns<NoticeDocument> = {
  AT: ({ at }) => clockTime(at),
  ACCOUNT: ({ account }) => account ?? '',
  SENDER: ({ sender }) => sender ?? '',
  FIELD: ({ field }) => field,
  SAYS: ({ sentence, missed }) => `${sentence}${missed === 0 ? '' : ` (${missed} before it were too many to be kept)`}`,
}

export const verbs: readonly Verb[] = [
  verb({
    usage: 'list',
    summary: 'list what WhatsApp has told of accounts, numbers and templates, the latest first',
    example: '--account 1 --limit 20',
    isDefault: true,
    values: { account: option(accountId.optional(), 'id', 'only what concerns this account'), limit: limitOption() },
    async run({ account = NO_ACCOUNT, limit }, { redis }) {
      const { notices } = await readNotices(redis, { account, limit, cursor: undefined }, Date.now())
      return listed(notices, COLUMNS, 'WhatsApp has told nothing yet.')
    },
  }),
]
