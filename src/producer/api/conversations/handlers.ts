// The conversation with a person.
import { assertForSender } from '../../../messages/accept/check-key.ts'
import { senderOf } from '../../../messages/accept/prepare-message.ts'
import { isoOrNull } from '../../../messages/instant.ts'
import { replyWindowOf, WINDOW_MS } from '../../../messages/store/inbound.ts'
import { findOptOut } from '../../../people/opt-outs/store/opt-outs.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { shows } from '../answers.ts'
import { conversations } from './routes.ts'

export const conversationRoutes = ({ redis }: { redis: Redis }): Route[] =>
  bind(conversations)({
    async show({ caller, params: { person }, query }) {
      const { account } = caller
      const sender = await senderOf({ redis }, account, query.sender)
      assertForSender(caller, sender.id)
      const [until, optOut] = await Promise.all([
        replyWindowOf(redis, sender.id, person),
        findOptOut(redis, account, person),
      ])
      const isHeard = sender.provider === 'cloud-api'
      return shows('conversation', {
        person,
        sender: sender.number,
        open: isHeard ? until !== undefined : null,
        open_until: isoOrNull(until),
        last_received_at: until === undefined ? null : new Date(until - WINDOW_MS).toISOString(),
        opted_out: optOut !== undefined,
      })
    },
  })
