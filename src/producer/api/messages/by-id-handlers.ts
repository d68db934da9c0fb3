// One message by its id: looking at it, cancelling it while it waits, sending it again once it ended.

import { cachedSender, findSender } from '../../../accounts/store/senders.ts'
import type { ListSettings } from '../../../campaigns/store/in-chunk.ts'
import type { Config } from '../../../config.ts'
import { assertForSender } from '../../../messages/accept/check-key.ts'
import type { State } from '../../../messages/lifecycle.ts'
import { cancelWherever } from '../../../messages/lookup/cancel.ts'
import { findMessage, owns } from '../../../messages/lookup/lookup.ts'
import { receivedDocument, sentDocument } from '../../../messages/lookup/message-document.ts'
import type { ReceivedMessage, SentMessage } from '../../../messages/lookup/message-schema.ts'
import { findOwnMessage } from '../../../messages/lookup/own-message.ts'
import { type MessageId, parseMessageId } from '../../../messages/message-id.ts'
import { REQUEUE_STATES } from '../../../messages/requeue/filter.ts'
import { requeueMessage } from '../../../messages/requeue/requeue.ts'
import type { LaneQueues } from '../../../queue/lane/queues.ts'
import type { Redis } from '../../../redis/connect.ts'
import { ApiError, notFound } from '../../errors.ts'
import type { CallOf, Handlers } from '../../route.ts'
import type { messages } from './routes.ts'

interface MessageDeps {
  redis: Redis
  queues: LaneQueues
  config: Pick<Config, 'retentionMs' | 'validityMs'> & ListSettings
}

type MessageRoutes = Pick<typeof messages, 'show' | 'cancel' | 'requeue'>
type Call = Pick<CallOf<MessageRoutes['show']>, 'caller' | 'params'>

/** Handlers of `/messages/{id}` and below. */
export function messageHandlers(deps: MessageDeps): Handlers<MessageRoutes> {
  const { redis, config } = deps

  async function documentOf({ params, caller }: Call): Promise<SentMessage | ReceivedMessage> {
    const found = await findOwnMessage(redis, caller.account, params.id, Date.now(), config)
    if (!found) throw notFound('The message')
    assertForSender(caller, 'inbound' in found ? found.inbound.lane : found.sender.id)
    return 'inbound' in found
      ? receivedDocument(found.inbound, await findSender(redis, found.inbound.lane))
      : sentDocument(redis, found.message, found.sender)
  }

  return {
    show: async (call) => ({ body: { status: true, message: 'message', data: await documentOf(call) } }),
    async cancel(call) {
      await cancel(deps, await ownId(redis, call))
      return { body: { status: true, message: 'cancelled', data: await documentOf(call) } }
    },
    async requeue(call) {
      await requeue(deps, await ownId(redis, call))
      return { body: { status: true, message: 'queued again', data: await documentOf(call) } }
    },
  }
}

/** The id of the path, when it is of one of the caller's senders; a received message can be neither cancelled nor sent. */
async function ownId(redis: Redis, { params, caller }: Call): Promise<MessageId> {
  const id = parseMessageId(params.id)
  if (!id || !owns(await cachedSender(redis, id.lane), caller.account)) throw notFound('The message')
  assertForSender(caller, id.lane)
  return id
}

async function cancel(deps: MessageDeps, id: MessageId): Promise<void> {
  const result = await cancelWherever(deps, id)
  if (result.verdict === 'missing') throw notFound('The message')
  if (result.verdict === 'done') return
  throw wrongState(await shownState(deps, id, result.state), 'only one that is queued can be cancelled')
}

async function requeue(deps: MessageDeps, id: MessageId): Promise<void> {
  const { verdict, state } = await requeueMessage(deps, id)
  switch (verdict) {
    case 'done':
      return
    case 'campaign_over':
      throw new ApiError(
        409,
        'campaign_over',
        'Its campaign is cancelled or no longer stored, so nothing of it is sent.',
      )
    case 'sender_removed':
      throw new ApiError(409, 'sender_removed', 'Its sender was removed, so it cannot be sent again.')
    case 'without_content':
      throw new ApiError(409, 'without_content', 'Its content is no longer stored, so it cannot be sent again.')
    case 'missing':
    case 'ignored': {
      const needed = `only one that is ${REQUEUE_STATES.slice(0, -1).join(', ')} or ${REQUEUE_STATES.at(-1)} can be requeued`
      throw wrongState(await shownState(deps, id, state), needed)
    }
  }
}

/** The state that a lookup shows, which may be another than the stored one. */
async function shownState({ redis, config }: MessageDeps, id: MessageId, stored: State | undefined): Promise<State> {
  const state = (await findMessage(redis, id, Date.now(), config))?.state ?? stored
  if (state === undefined) throw notFound('The message')
  return state
}

const wrongState = (state: string, needed: string): ApiError =>
  new ApiError(409, 'wrong_state', `The message is ${state}; ${needed}.`, {
    details: [{ path: 'state', message: state }],
  })
