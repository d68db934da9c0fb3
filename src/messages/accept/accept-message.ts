// Accepting a message: from a request to a durable job and its acknowledgement, for the producer's routes and the
// intake queue alike. The body is read, the Idempotency-Key recalled, the job prepared, room reserved for it, the key
// remembered, the job added to its lane: in the order of `accept`.
//
// The acknowledgement is given once the job is durable in Redis; the provider is not called here. The id of the message is
// kept under the key before the job is added, and adding a job under an id twice changes nothing. If the process dies
// - before the id is kept: nothing was accepted, and the repeat is a first request;
// - after that: the repeat finds the id, finds no message, and makes it;
// - after the job is added: the message is accepted although the client may not know; the repeat finds it, also when its
//   validity has passed or its template is gone by then.

import { cachedAccount, limitsOf } from '../../accounts/accounts.ts'
import { assertForSender } from '../../accounts/check-key.ts'
import { type MessageId, messageId, newUlid, parseMessageId } from '../../kernel/message-id.ts'
import { inAcceptSpan } from '../../kernel/tracing.ts'
import { isNeverIgnored, type UnknownField } from '../../kernel/unknown-fields.ts'
import { laneJobKey } from '../../lanes/bullmq/layout.ts'
import { isLaneClosed } from '../../lanes/closed-lanes.ts'
import { messageExists } from '../../lanes/messages/records.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import type { Redis } from '../../redis/connect.ts'
import { bodyDigest, checkedKey, forgetKey, type KeyUse, recallKey, rememberKey } from '../../redis/idempotency.ts'
import { inDoubtKey, messageKey } from '../../redis/keys.ts'
import { observerOf } from '../../redis/observe.ts'
import { assertReplicated, assertReplicating, needsReplicas } from '../../redis/replication.ts'
import type { Acknowledgement } from './acknowledgement.ts'
import { refuseClosedLane } from './choose-sender.ts'
import { type PrepareDeps, prepareMessage, refusalOf } from './prepare-message.ts'
import { readSend, type SendKind, type UnknownFieldsRule, withUnknown } from './read-send.ts'
import { roomToWait } from './waiting-quota.ts'

/** What accepting a message needs. */
export interface AcceptDeps extends PrepareDeps {
  queues: LaneQueues
}

/** A send from an account whose key has been checked. `body` is parsed JSON within the limits of a body. */
export interface SendRequest {
  account: number
  kind: SendKind
  body: Record<string, unknown>
  unknownFields: UnknownFieldsRule
  /** The client's own key for this request; a repeat with it makes no second message. */
  idempotencyKey: string | undefined
  /** At an address that takes all kinds, a key is good for one request of any kind; else for one of this kind. */
  keyedAs?: 'message'
  /** The only senders that the key is for; none: all. */
  senders?: readonly number[] | undefined
  /** The trace that the request belongs to, as it came: anything that is no `traceparent` is ignored. */
  traceparent?: string | undefined
}

/** A message whose job is durable in Redis. `id` is valid for lookups from now on. */
export interface Accepted {
  id: string
  acknowledgement: Acknowledgement
  /** The fields of the body that are unknown, at most twenty. */
  ignored: readonly UnknownField[]
  /** Why it may not reach the person although it was accepted; a repeat is not warned again. */
  warning?: string | undefined
}

/** Queues the message of a request, or throws a Refusal. */
export const acceptMessage = inAcceptSpan('one', accept, ({ id }: Accepted) => [id])

/** `trace` goes into the job. */
async function accept(deps: AcceptDeps, request: SendRequest, trace: string | undefined): Promise<Accepted> {
  const { redis, config } = deps
  const { account, kind, body } = request
  const beganAt = performance.now()

  const read = readSend(kind, body, request.unknownFields)
  if (!read.ok) throw await refusalOf(redis, account, read)
  const settings = await cachedAccount(redis, account)
  if (read.ignored.length > 0) {
    const refused = settings?.unknown_fields === 'refuse' ? read.ignored : read.ignored.filter(isNeverIgnored)
    if (refused.length > 0) throw await refusalOf(redis, account, withUnknown(read, refused))
  }
  const accepted = (id: string, warning?: string): Accepted => {
    observerOf(redis).acceptTook('one', performance.now() - beganAt)
    return { id, acknowledgement: acknowledgementOf(read.message, id), ignored: read.ignored, warning }
  }

  // A repeat is not checked again: it gets its answer even when it would be refused by now.
  const use = keyOf(request)
  const earlier = use && (await earlierMessage(redis, use))
  if (earlier?.exists) {
    await assertMessagesReplicated(redis, [earlier.id])
    return accepted(earlier.id)
  }

  // If the key already has an id, prepare for that id's lane: content prepared for another lane may be wrong.
  const nowMs = Date.now()
  const owner = { account, settings, lane: earlier && laneOf(earlier.id) }
  const { lane, payload, warn } = await prepareMessage(deps, owner, read, nowMs)
  if (request.senders !== undefined) assertForSender({ senders: request.senders }, lane, notFor(read.message))
  if (trace !== undefined) payload.trace = trace

  const leaveRoom = await roomToWait(redis, account, limitsOf(settings, config.limits).waiting, 1)
  try {
    // Before the message is added: dying in between leaves a key whose message the repeat makes.
    const id = earlier?.id ?? messageId(lane, newUlid(nowMs))
    const isFirst = use === undefined || earlier !== undefined || (await rememberKey(redis, use, id)) === id
    if (isFirst) {
      await assertReplicating(redis, inDoubtKey(lane))
      // In the same round trip. Without an answer there is no warning.
      const warned = warn?.().catch(() => undefined)
      await deps.queues.add(id, payload).catch(refuseClosedLane)
      const warning = await warned
      observerOf(redis).accepted({ lane, class: payload.class, count: 1 })
      await assertMessagesReplicated(redis, [id])
      return accepted(id, warning)
    }
  } finally {
    leaveRoom()
  }
  // Another request with this key was first, and this one is its repeat.
  return accept(deps, request, trace)
}

/** The key of a request that has one; a Refusal when it is too long. */
function keyOf({ account, kind, keyedAs, body, idempotencyKey }: SendRequest): KeyUse | undefined {
  const key = checkedKey(idempotencyKey)
  return key === undefined ? undefined : { account, route: keyedAs ?? kind, key, digest: bodyDigest(body) }
}

/**
 * What the key stands for: the id of a message, which a crash may have kept from being made. The key of a message that nobody
 * can make any more, since its sender was removed, is free for another one.
 */
async function earlierMessage(redis: Redis, use: KeyUse): Promise<{ id: string; exists: boolean } | undefined> {
  const name = await recallKey(redis, use)
  if (name === undefined) return undefined
  const id = idIn(name)
  // Read before the search: on a closed lane a message that is not found now never appears.
  const isClosed = await isLaneClosed(redis, id.lane)
  if (await messageExists(redis, id)) return { id: name, exists: true }
  if (!isClosed) return { id: name, exists: false }
  await forgetKey(redis, use, name)
  return earlierMessage(redis, use)
}

/** The parts of an id that was made here. */
function idIn(name: string): MessageId {
  const id = parseMessageId(name)
  if (!id) throw new Error('an idempotency key of a message stands for something else')
  return id
}

const laneOf = (name: string): number => idIn(name).lane

/** Why a key that is for some senders may not send this. */
export const notFor = ({ sender }: { sender?: string }): string | undefined =>
  sender === undefined ? 'The key is not for the default sender: name another one in the field sender.' : undefined

const acknowledgementOf = ({ input, to }: { input: string; to: string }, id: string): Acknowledgement => ({
  messaging_product: 'chatapp',
  contacts: [{ input, wa_id: to }],
  messages: [{ id }],
})

/** Rejects unless as many replicas as are required have these messages, as records or still as jobs. */
export async function assertMessagesReplicated(redis: Redis, names: readonly string[]): Promise<void> {
  if (!needsReplicas(redis)) return
  await Promise.all(
    names.map((name) => {
      const id = parseMessageId(name)
      // The claim makes the record before it ends the job.
      return id && assertReplicated(redis, [laneJobKey(id.lane, name), messageKey(id.lane, id.ulid)])
    }),
  )
}
