// What is to leave later, a page at a time.
import { existingSenders } from '../../../accounts/named-senders.ts'
import { listSenders } from '../../../accounts/senders.ts'
import { findScheduled, showScheduled } from '../../../admin/scheduled.ts'
import type { ListSettings } from '../../../recipients/unclaimed-message.ts'
import type { Redis } from '../../../redis/connect.ts'
import { accountOf } from '../../acting-account.ts'
import type { Handlers } from '../../route.ts'
import { lists } from '../answers.ts'
import { pageOfAll, readPosition } from '../requests.ts'
import type { messages } from './routes.ts'

export const scheduledHandlers = ({
  redis,
  config,
}: {
  redis: Redis
  config: ListSettings
}): Pick<Handlers<typeof messages>, 'scheduled'> => ({
  async scheduled({ caller, query }) {
    const account = accountOf(caller)
    const { sender, since: sinceMs = 0, until: untilMs = Number.POSITIVE_INFINITY, limit, cursor } = query
    const all = await listSenders(redis, account)
    const senders = sender === undefined ? all : existingSenders(all, sender, account)
    const from = cursor === undefined ? undefined : readPosition(cursor)
    const after = from && { score: from.at, id: from.id }
    const entries = await findScheduled(redis, { account, senders, sinceMs, untilMs }, { after, most: limit + 1 })
    const { data, next } = pageOfAll(entries, ({ position: { score, id } }) => ({ at: score, id }), { limit, cursor })
    const shown = await Promise.all(data.map((entry) => showScheduled(redis, entry, { senders, lists: config })))
    return lists({ data: shown.flatMap((entry) => entry ?? []), next })
  },
})
