// The audit log, and notices of WhatsApp about accounts, numbers and templates.

import { readAuditLog } from '../../../accounts/audit-log.ts'
import { findNamedSender } from '../../../accounts/named-senders.ts'
import { NO_ACCOUNT } from '../../../model/accounts/permissions.ts'
import type { Redis } from '../../../redis/connect.ts'
import { isNoticeCursor, readNotices } from '../../../reports/notices.ts'
import { accountOf } from '../../acting-account.ts'
import { bind, type Route } from '../../bind.ts'
import { lists } from '../answers.ts'
import { badCursor, found } from '../requests.ts'
import { activity, notices } from './routes.ts'

export const activityRoutes = ({ redis }: { redis: Redis }): Route[] =>
  bind(activity)({
    async list({ caller, query: { limit, cursor } }) {
      const { entries, next } = await readAuditLog(redis, { account: accountOf(caller), limit, cursor }, Date.now())
      return lists({ data: entries, next })
    },
  })

export function noticeRoutes({ redis }: { redis: Redis }): Route[] {
  /** The id of the sender of that name; notices outlive senders, so that any id is taken. */
  async function senderOf(named: string, account: number | undefined): Promise<number> {
    const sender = await findNamedSender(redis, named, { account, removedToo: true })
    return sender?.id ?? found(/^[1-9]\d{0,14}$/.test(named) ? Number(named) : undefined, 'The sender')
  }

  return bind(notices)({
    async list({ caller, query: { limit, cursor, sender: named, ...rest } }) {
      if (cursor !== undefined && !isNoticeCursor(cursor)) throw badCursor()
      const account = accountOf(caller)
      const filter = { ...rest, sender: named === undefined ? undefined : await senderOf(named, account) }
      const read = await readNotices(redis, { account: account ?? NO_ACCOUNT, limit, cursor, filter }, Date.now())
      return lists({ data: read.notices, next: read.next })
    },
  })
}
