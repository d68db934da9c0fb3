// One message by its id.
//
//   GET  /messages/{id}            where it stands, why it waits, all that happened
//   POST /messages/{id}/cancel     while it waits
//   POST /messages/{id}/requeue    once it ended failed, unknown, expired or cancelled

import { findSender, recentSender } from '../../accounts/store/senders.ts'
import type { Config } from '../../config.ts'
import { cancelMessage } from '../../lanes/cancel-message.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import { findMessage, owns } from '../../lookup/lookup.ts'
import { receivedDocument, sentDocument } from '../../lookup/message-document.ts'
import { findOwnMessage } from '../../lookup/own-message.ts'
import type { State } from '../../messages/lifecycle.ts'
import { type MessageId, parseMessageId } from '../../messages/message-id.ts'
import type { Redis } from '../../redis/connect.ts'
import { REQUEUE_STATES } from '../../requeue/filter.ts'
import { requeueMessage } from '../../requeue/requeue.ts'
import { ApiError, notFound } from '../errors.ts'
import type { Access, Answer, Call, Route } from '../route.ts'

interface MessageDeps {
  redis: Redis
  queues: LaneQueues
  config: Pick<Config, 'retentionMs' | 'validityMs'>
}

const mayLook: Access = { in: 'bearer', permission: 'messages:read' }
const maySend: Access = { in: 'bearer', permission: 'messages:send' }

export function messageByIdRoutes(deps: MessageDeps): Route[] {
  const { redis } = deps

  async function show(call: Call): Promise<Answer> {
    const found = await findOwnMessage(redis, call.caller.account, call.params.id ?? '', Date.now())
    if (!found) throw notFound('The message')
    const data =
      'inbound' in found
        ? receivedDocument(found.inbound, await findSender(redis, found.inbound.lane))
        : await sentDocument(redis, found.message, found.sender)
    return { body: { status: true, message: 'message', data } }
  }

  const move = (verb: string, message: string, act: (id: MessageId) => Promise<void>): Route => ({
    method: 'post',
    path: `/messages/:id/${verb}`,
    access: maySend,
    body: { as: 'ignored' },
    handle: async (call) => {
      await act(await ownId(redis, call))
      const { body } = (await show(call)) as { body: { data: object } }
      return { body: { status: true, message, data: body.data } }
    },
  })

  return [
    { method: 'get', path: '/messages/:id', access: mayLook, body: { as: 'ignored' }, handle: show },
    move('cancel', 'cancelled', (id) => cancel(deps, id)),
    move('requeue', 'queued again', (id) => requeue(deps, id)),
  ]
}

/** The id of the path, when it is of one of the caller's senders; a received message can be neither cancelled nor sent. */
async function ownId(redis: Redis, { params, caller }: Call): Promise<MessageId> {
  const id = parseMessageId(params.id ?? '')
  if (!id || !owns(await recentSender(redis, id.lane), caller.account)) throw notFound('The message')
  return id
}

async function cancel(deps: MessageDeps, id: MessageId): Promise<void> {
  const result = await cancelMessage(deps, id, deps.config.retentionMs)
  if (result.verdict === 'missing') throw notFound('The message')
  if (result.verdict === 'done') return
  throw wrongState(await shownState(deps.redis, id, result.state), 'only one that is queued can be cancelled')
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
    case 'without_content':
      throw new ApiError(409, 'without_content', 'Its content is no longer stored, so it cannot be sent again.')
    case 'missing':
    case 'ignored': {
      const needed = `only one that is ${REQUEUE_STATES.slice(0, -1).join(', ')} or ${REQUEUE_STATES.at(-1)} can be requeued`
      throw wrongState(await shownState(deps.redis, id, state), needed)
    }
  }
}

/** The state that a lookup tells, which may be another than the stored one. */
async function shownState(redis: Redis, id: MessageId, stored: State | undefined): Promise<State> {
  const state = (await findMessage(redis, id, Date.now()))?.state ?? stored
  if (state === undefined) throw notFound('The message')
  return state
}

const wrongState = (state: string, needed: string): ApiError =>
  new ApiError(409, 'wrong_state', `The message is ${state}; ${needed}.`, {
    details: [{ path: 'state', message: state }],
  })
