// Accepting a message: from a request to a durable job and its acknowledgement, for the producer's routes and the
// intake queue alike.
//
// The acknowledgement is given once the job is durable in Redis; the provider is not called here. If the process dies
// - before the job is added: nothing was accepted and the client got no answer; with an Idempotency-Key its repeat
//   gets the id that the key already stands for, and the message is made then;
// - after: the message is accepted although the client may not know; its repeat with the same key finds it.
import { messageId, newUlid, parseMessageId } from '../messages/message-id.ts'
import { bodyDigest, recallKey, rememberKey } from '../store/idempotency.ts'
import type { LaneQueues } from '../store/lane-queues.ts'
import { messageExists } from '../store/lookup.ts'
import { checkedKey, refuseOtherBody } from './idempotency-key.ts'
import { type PrepareDeps, prepareMessage, refusalOf } from './prepare-message.ts'
import { readSend, type SendKind } from './read-send.ts'

export interface AcceptDeps extends PrepareDeps {
  queues: LaneQueues
}

export interface SendRequest {
  account: number
  kind: SendKind
  body: Record<string, unknown>
  /** The client's own key for this request; a repeat with it makes no second message. */
  idempotencyKey: string | undefined
}

export interface Acknowledgement {
  messaging_product: 'chatapp'
  contacts: { input: string; wa_id: string }[]
  messages: { id: string }[]
}

/** Queues the message of a request, or throws a Refusal. */
export async function acceptMessage(deps: AcceptDeps, request: SendRequest): Promise<Acknowledgement> {
  const { account, kind, body } = request
  const read = readSend(kind, body)
  if (read.kind === 'unreadable') throw await refusalOf(deps, account, read)
  const { input, to } = read.message
  const acknowledged = (id: string): Acknowledgement => ({
    messaging_product: 'chatapp',
    contacts: [{ input, wa_id: to }],
    messages: [{ id }],
  })

  const key = checkedKey(request.idempotencyKey)
  if (key === undefined) {
    const { lane, payload } = await prepareMessage(deps, account, read, Date.now())
    const id = messageId(lane, newUlid(Date.now()))
    await deps.queues.add(id, payload)
    return acknowledged(id)
  }

  // What depends on the account or on the time is not checked again for a repeat whose message exists, so that it gets
  // the same acknowledgement even when its validity has passed or its template is gone by then.
  const where = { account, route: kind, key }
  const digest = bodyDigest(body)
  const earlier = await recallKey(deps.redis, where)
  if (earlier && (await isRepeat(deps, earlier, digest))) return acknowledged(earlier.id)

  const { lane, payload } = await prepareMessage(deps, account, read, Date.now())
  const kept = await rememberKey(deps.redis, where, { id: messageId(lane, newUlid(Date.now())), digest })
  if (!kept.isNew && (await isRepeat(deps, kept, digest))) return acknowledged(kept.id)
  await deps.queues.add(kept.id, payload)
  return acknowledged(kept.id)
}

/** Whether the key's message exists; throws when the key came with another body. */
async function isRepeat(deps: AcceptDeps, kept: { id: string; digest: string }, digest: string): Promise<boolean> {
  refuseOtherBody(kept, digest)
  const id = parseMessageId(kept.id)
  return id !== undefined && messageExists(deps.redis, id)
}
