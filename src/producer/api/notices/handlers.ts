// What WhatsApp has told of accounts, numbers and templates.
import { NO_ACCOUNT } from '../../../accounts/permissions.ts'
import { isNoticeCursor, readNotices } from '../../../notices/store/notices.ts'
import type { Redis } from '../../../redis/connect.ts'
import { accountOf } from '../../authorise.ts'
import { bind, type Route } from '../../bind.ts'
import { lists } from '../answers.ts'
import { badCursor } from '../requests.ts'
import { notices } from './routes.ts'

export const noticeRoutes = ({ redis }: { redis: Redis }): Route[] =>
  bind(notices)({
    async list({ caller, query: { limit, cursor } }) {
      if (cursor !== undefined && !isNoticeCursor(cursor)) throw badCursor()
      const account = accountOf(caller) ?? NO_ACCOUNT
      const found = await readNotices(redis, { account, limit, cursor }, Date.now())
      return lists({ data: found.notices, next: found.next })
    },
  })
