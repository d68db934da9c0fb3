// How a conversation with a person stands.
import { assertForSender } from '../../../messages/accept/check-key.ts'
import { senderOf } from '../../../messages/accept/prepare-message.ts'
import { replyWindowOf, WINDOW_MS } from '../../../messages/store/reply-window.ts'
import { findOptOut } from '../../../people/opt-outs/store/opt-outs.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { personOf } from '../person-field.ts'
import { conversations } from './routes.ts'

/** The routes of routes/conversations.ts. */
export const conversationRoutes = ({ redis }: { redis: Redis }): Route[] =>
  bind(conversations)({
    async show({ caller, params, query }) {
      const { account } = caller
      const person = personOf(params.person)
      const sender = await senderOf({ redis }, account, query.sender)
      assertForSender(caller, sender.id)
      const [until, optOut] = await Promise.all([
        replyWindowOf(redis, sender.id, person),
        findOptOut(redis, account, person),
      ])
      const isHeard = sender.provider === 'cloud-api'
      const data = {
        person,
        sender: sender.number,
        open: isHeard ? until !== undefined : null,
        open_until: until === undefined ? null : new Date(until).toISOString(),
        last_received_at: until === undefined ? null : new Date(until - WINDOW_MS).toISOString(),
        opted_out: optOut !== undefined,
      }
      return { body: { status: true, message: 'conversation', data } }
    },
  })
