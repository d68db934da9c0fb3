// The list of an account's messages. What cannot be is refused before anything is looked through: a name that nobody has
// would bring an empty list and look as if all were well.

import { listKeptSenders } from '../../../accounts/store/senders.ts'
import { parseCampaignId } from '../../../campaigns/campaign-id.ts'
import type { ListSettings } from '../../../campaigns/store/in-chunk.ts'
import { existingSenders } from '../../../messages/accept/named-senders.ts'
import { readCursor, writeCursor } from '../../../messages/lookup/cursor.ts'
import { findMessages } from '../../../messages/lookup/find-messages.ts'
import { digitsOf } from '../../../messages/requeue/accept-requeue.ts'
import type { Redis } from '../../../redis/connect.ts'
import { invalid } from '../../errors.ts'
import type { AnswerOf, CallOf, Handlers } from '../../route.ts'
import type { messages } from './routes.ts'

type ListRoute = Pick<typeof messages, 'list'>

/** Handler of `GET /messages`. */
export const listHandlers = (deps: { redis: Redis; config: ListSettings }): Handlers<ListRoute> => ({
  list: (call) => list(deps, call),
})

async function list(
  { redis, config: lists }: { redis: Redis; config: ListSettings },
  call: CallOf<ListRoute['list']>,
): Promise<AnswerOf<ListRoute['list']>> {
  const { sender, to, from, campaign, campaign_id: campaignId, since, until, limit, cursor, ...same } = call.query
  const { account } = call.caller
  const after = cursor === undefined ? undefined : readCursor(account, cursor)
  if (cursor !== undefined && after === undefined) {
    throw invalid([{ path: 'cursor', message: 'expected what an earlier page had as next' }])
  }
  const ours = campaign === undefined ? undefined : parseCampaignId(campaign)
  if (campaign !== undefined && ours === undefined) {
    const message = 'expected the id of a campaign such as cmp_1_2; the campaign_id of requests is another filter'
    throw invalid([{ path: 'campaign', message }])
  }
  const all = await listKeptSenders(redis, account)
  const senders = sender === undefined ? all : existingSenders(all, sender, account)
  const { messages: found, next } = await findMessages(redis, {
    senders,
    filter: {
      ...same,
      to: to === undefined ? undefined : digitsOf('to', to),
      from: from === undefined ? undefined : digitsOf('from', from),
      campaign: ours && campaign !== undefined ? { ...ours, id: campaign } : undefined,
      campaignId,
      sinceMs: since,
      untilMs: until,
    },
    limit,
    after,
    nowMs: Date.now(),
    lists,
    isWanted: () => !call.isGone(),
  })
  return { body: { status: true, data: found, next: next ? writeCursor(account, next) : null } }
}
