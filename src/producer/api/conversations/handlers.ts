// The conversation with a person: its window, and its messages.

import { assertForSender } from '../../../accounts/check-key.ts'
import { existingSenders } from '../../../accounts/named-senders.ts'
import { listRetainedSenders } from '../../../accounts/senders.ts'
import { isoOrNull } from '../../../kernel/instant.ts'
import { replyWindowOf, WINDOW_MS } from '../../../lanes/messages/inbound.ts'
import { senderOf } from '../../../messages/accept/choose-sender.ts'
import { namesOf } from '../../../people/names/names.ts'
import { findOptOut } from '../../../people/opt-outs/opt-outs.ts'
import type { ListSettings } from '../../../recipients/unclaimed-message.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { shows } from '../answers.ts'
import { messagePage } from '../messages/handlers.ts'
import { conversations } from './routes.ts'

export const conversationRoutes = (deps: { redis: Redis; config: ListSettings }): Route[] => {
  const { redis } = deps
  return bind(conversations)({
    async show({ caller, params: { person }, query }) {
      const { account } = caller
      const sender = await senderOf(redis, account, query.sender)
      assertForSender(caller, sender.id)
      const [until, optOut] = await Promise.all([
        namesOf(redis, account, person).then((names) => replyWindowOf(redis, sender.id, names)),
        findOptOut(redis, account, person),
      ])
      const receives = sender.provider === 'cloud-api'
      return shows('conversation', {
        person,
        sender: sender.number,
        open: receives ? until !== undefined : null,
        open_until: isoOrNull(until),
        last_received_at: until === undefined ? null : new Date(until - WINDOW_MS).toISOString(),
        opted_out: optOut !== undefined,
      })
    },

    async messages(call) {
      const { caller, params, query } = call
      const kept = await listRetainedSenders(redis, caller.account)
      let senders = kept.filter(({ id }) => caller.senders.length === 0 || caller.senders.includes(id))
      if (query.sender !== undefined) {
        senders = existingSenders(kept, query.sender, caller.account)
        for (const { id } of senders) assertForSender(caller, id)
      }
      const names = await namesOf(redis, caller.account, params.person)
      return messagePage(deps, call, senders, { names, direction: query.direction })
    },
  })
}
