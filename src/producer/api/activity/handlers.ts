// The audit log, and notices of WhatsApp about accounts, numbers and templates.

import { readAuditLog } from '../../../accounts/audit-log.ts'
import { NO_ACCOUNT } from '../../../model/accounts/permissions.ts'
import type { Redis } from '../../../redis/connect.ts'
import { isNoticeCursor, readNotices } from '../../../reports/notices.ts'
import { accountOf } from '../../acting-account.ts'
import { bind, type Route } from '../../bind.ts'
import { lists } from '../answers.ts'
import { badCursor } from '../requests.ts'
import { activity, notices } from './routes.ts'

export const activityRoutes = ({ redis }: { redis: Redis }): Route[] =>
  bind(activity)({
    async list({ caller, query: { limit, cursor } }) {
      const { entries, next } = await readAuditLog(redis, { account: accountOf(caller), limit, cursor }, Date.now())
      return lists({ data: entries, next })
    },
  })

export const noticeRoutes = ({ redis }: { redis: Redis }): Route[] =>
  bind(notices)({
    async list({ caller, query: { limit, cursor, ...filter } }) {
      if (cursor !== undefined && !isNoticeCursor(cursor)) throw badCursor()
      const account = accountOf(caller) ?? NO_ACCOUNT
      const found = await readNotices(redis, { account, limit, cursor, filter }, Date.now())
      return lists({ data: found.notices, next: found.next })
    },
  })
