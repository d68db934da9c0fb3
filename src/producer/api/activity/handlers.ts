// The audit log.
import { readAuditLog } from '../../../accounts/store/audit-log.ts'
import type { Redis } from '../../../redis/connect.ts'
import { accountOf } from '../../authorise.ts'
import { bind, type Route } from '../../bind.ts'
import { lists } from '../answers.ts'
import { activity } from './routes.ts'

export const activityRoutes = ({ redis }: { redis: Redis }): Route[] =>
  bind(activity)({
    async list({ caller, query: { limit, cursor } }) {
      const { entries, next } = await readAuditLog(redis, { account: accountOf(caller), limit, cursor }, Date.now())
      return lists({ data: entries, next })
    },
  })
