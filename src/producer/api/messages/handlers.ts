// Messages in lists and by their id, and the lookups of the older interface. A filter by a name that does not exist is refused
// before anything is searched: an empty list would look as if all were well.

import { assertForSender } from '../../../accounts/check-key.ts'
import { existingSenders } from '../../../accounts/named-senders.ts'
import { cachedSender, findSender, listRetainedSenders, type Sender } from '../../../accounts/senders.ts'
import type { Config } from '../../../kernel/config.ts'
import { type MessageId, messageId, parseMessageId } from '../../../kernel/message-id.ts'
import { type InboundMessage, readCursor, writeCursor } from '../../../lanes/archive/archive.ts'
import type { LaneQueues } from '../../../lanes/queues.ts'
import { cancelWherever } from '../../../messages/lookup/cancel.ts'
import { findMessages } from '../../../messages/lookup/find-messages.ts'
import { type FoundMessage, findMessage, infoStatus, owns } from '../../../messages/lookup/lookup.ts'
import { receivedDocument, sentDocument } from '../../../messages/lookup/message-document.ts'
import type { MessageFilter } from '../../../messages/lookup/message-filter.ts'
import { deliveryOf, findOwnMessage, type OwnMessage } from '../../../messages/lookup/own-message.ts'
import { digitsOf, noCampaignId } from '../../../messages/requeue/accept-requeue.ts'
import { REQUEUE_STATES } from '../../../messages/requeue/filter.ts'
import { OBSTACLES, requeueMessage } from '../../../messages/requeue/requeue.ts'
import { parseCampaignId } from '../../../model/campaigns/campaign-id.ts'
import type { State } from '../../../model/messages/lifecycle.ts'
import { namesOf } from '../../../people/names/names.ts'
import type { ListSettings } from '../../../recipients/unclaimed-message.ts'
import type { Redis } from '../../../redis/connect.ts'
import { accountOf } from '../../acting-account.ts'
import { bind, type Route } from '../../bind.ts'
import { ApiError, notFound } from '../../errors.ts'
import type { Caller, ContextOf } from '../../route.ts'
import { lists, shows } from '../answers.ts'
import { badCursor, found } from '../requests.ts'
import { type MediaDeps, mediaHandlers } from './media-handlers.ts'
import { forMessage } from './message-account.ts'
import { type ReadDeps, readHandlers } from './read-handlers.ts'
import { type RequeueDeps, requeueHandlers } from './requeue-handlers.ts'
import { lookups, messages } from './routes.ts'
import { scheduledHandlers } from './scheduled-handlers.ts'

interface MessageDeps {
  redis: Redis
  queues: LaneQueues
  config: Pick<Config, 'retentionMs' | 'validityMs'> & ListSettings
}

type ById = Pick<ContextOf<typeof messages.show>, 'caller' | 'params'>
type ActById = Pick<ContextOf<typeof messages.cancel>, 'caller' | 'params' | 'audit'>

export function messageRoutes(deps: MessageDeps & RequeueDeps & MediaDeps & ReadDeps): Route[] {
  const { redis, config } = deps

  async function documentOf({ params, caller }: ById) {
    const own = await ownMessage(deps, await forMessage(redis, caller, params.id), params.id)
    return 'inbound' in own
      ? receivedDocument(own.inbound, await findSender(redis, own.inbound.lane))
      : sentDocument(redis, own.message, own.sender)
  }

  /**
   * The id of the path, if a sender of the caller has it; a received message can be neither cancelled nor requeued. Acts on it go to the
   * audit log of its account.
   */
  async function ownId({ params, caller, audit }: ActById): Promise<MessageId> {
    const id = parseMessageId(params.id)
    if (id === undefined) throw notFound('The message')
    const { account } = await forMessage(redis, caller, params.id)
    if (!owns(await cachedSender(redis, id.lane), account)) throw notFound('The message')
    assertForSender(caller, id.lane)
    audit({ account })
    return id
  }

  /** The state that a lookup shows, which may differ from the stored one. */
  const shownState = async (id: MessageId, stored: State | undefined): Promise<State> =>
    found((await findMessage(redis, id, Date.now(), config))?.state ?? stored, 'The message')

  return bind(messages)({
    async list(call) {
      const { sender, to, from, with: person, campaign, since, until, limit, cursor, ...same } = call.query
      const { campaign_id: campaignId, ...fields } = same
      const account = accountOf(call.caller)
      const ours = campaign === undefined ? undefined : parseCampaignId(campaign)
      if (campaign !== undefined && ours === undefined) throw noCampaignId()
      const all = await listRetainedSenders(redis, account)
      return messagePage(deps, call, sender === undefined ? all : existingSenders(all, sender, account), {
        ...fields,
        names: person === undefined ? undefined : await allNamesOf(redis, all, digitsOf('with', person)),
        to: to === undefined ? undefined : digitsOf('to', to),
        from: from === undefined ? undefined : digitsOf('from', from),
        campaign: ours && campaign !== undefined ? { ...ours, id: campaign } : undefined,
        campaignId,
        sinceMs: since,
        untilMs: until,
      })
    },

    show: async (call) => shows('message', await documentOf(call)),

    async cancel(call) {
      const id = await ownId(call)
      const result = await cancelWherever(deps, id)
      if (result.verdict === 'missing') throw notFound('The message')
      if (result.verdict !== 'done') {
        throw wrongState(await shownState(id, result.state), 'only one that is queued can be cancelled')
      }
      return shows('cancelled', await documentOf(call))
    },

    async requeue(call) {
      const id = await ownId(call)
      const { verdict, state } = await requeueMessage(deps, id)
      if (verdict === 'missing' || verdict === 'ignored') throw wrongState(await shownState(id, state), REQUEUEABLE)
      if (verdict !== 'done') throw new ApiError(409, verdict, OBSTACLES[verdict])
      return shows('queued again', await documentOf(call))
    },

    ...scheduledHandlers(deps),
    ...requeueHandlers(deps),
    ...mediaHandlers(deps),
    ...readHandlers(deps),
  })
}

/** All names of the person in the accounts of these senders. */
async function allNamesOf(redis: Redis, senders: readonly Sender[], person: string): Promise<string[]> {
  const accounts = [...new Set(senders.map(({ account }) => account))]
  const names = await Promise.all(accounts.map((account) => namesOf(redis, account, person)))
  return [...new Set([person, ...names.flat()])]
}

interface PageAsked {
  caller: Caller
  query: { limit: number; cursor?: string | undefined }
  isGone: () => boolean
}

/** The page of the senders' messages that a request asks for. */
export async function messagePage(
  { redis, config }: { redis: Redis; config: ListSettings },
  { caller: { account }, query: { limit, cursor }, isGone }: PageAsked,
  senders: readonly Sender[],
  filter: MessageFilter,
) {
  const after = cursor === undefined ? undefined : readCursor(account, cursor)
  if (cursor !== undefined && after === undefined) throw badCursor()
  const search = { senders, filter, limit, after, nowMs: Date.now(), lists: config, isWanted: () => !isGone() }
  const { messages: data, next } = await findMessages(redis, search)
  return lists({ data, next: next ? writeCursor(account, next) : null })
}

/** A message that the caller may see; one of another account does not exist for it. */
async function ownMessage(
  { redis, config }: { redis: Redis; config: ListSettings },
  caller: Caller,
  id: string,
): Promise<OwnMessage> {
  const own = found(await findOwnMessage(redis, caller.account, id, Date.now(), config), 'The message')
  assertForSender(caller, 'inbound' in own ? own.inbound.lane : own.sender.id)
  return own
}

const REQUEUEABLE = `only one that is ${REQUEUE_STATES.slice(0, -1).join(', ')} or ${REQUEUE_STATES.at(-1)} can be requeued`

const wrongState = (state: string, needed: string): ApiError =>
  new ApiError(409, 'wrong_state', `The message is ${state}; ${needed}.`, {
    details: [{ path: 'state', message: state }],
  })

export const lookupRoutes = (deps: { redis: Redis; config: ListSettings }): Route[] =>
  bind(lookups)({
    async info({ caller, body }) {
      const found = await ownMessage(deps, caller, body.message_id)
      const data = 'inbound' in found ? inboundInfo(found) : sentInfo(found)
      return { body: { status: true, message: { data } } }
    },
    async delivery({ caller, body }) {
      return { body: { status: true, message: deliveryOf(await ownMessage(deps, caller, body.message_id)) } }
    },
  })

const sentInfo = ({ message, sender }: { message: FoundMessage; sender: Sender }) => ({
  message_id: messageId(message.id.lane, message.id.ulid),
  message_text: message.text,
  message_type: message.type,
  message_from: sender.number,
  direction: 'outbound' as const,
  status: infoStatus(message.state),
  timestamp: Math.floor((message.sentAtMs ?? message.acceptedAtMs) / 1_000),
})

const inboundInfo = ({ inbound }: { inbound: InboundMessage }) => ({
  message_id: inbound.id,
  message_text: inbound.text,
  message_type: inbound.type,
  message_from: inbound.from,
  direction: 'inbound' as const,
  status: 'success' as const,
  timestamp: Math.floor(inbound.received_at / 1_000),
})
