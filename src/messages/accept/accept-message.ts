// Accepting a message: from a request to a durable job and its acknowledgement, for the producer's routes and the
// intake queue alike.
//
// The acknowledgement is given once the job is durable in Redis; the provider is not called here. If the process dies
// after the job is added, the message is accepted although the client may not know; a repeat with the same
// Idempotency-Key finds it (once.ts), also when its validity has passed or its template is gone by then.

import { cachedAccount } from '../../accounts/accounts.ts'
import { assertForSender } from '../../accounts/check-key.ts'
import type { UnknownField } from '../../kernel/fault.ts'
import { messageId, newUlid, parseMessageId } from '../../kernel/message-id.ts'
import { refusalCodeOf } from '../../kernel/refusal.ts'
import { traceAccept } from '../../kernel/tracing.ts'
import { laneJobKey } from '../../lanes/bullmq/layout.ts'
import { isLaneClosed } from '../../lanes/closed-lanes.ts'
import { messageExists } from '../../lanes/messages/records.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import type { Redis } from '../../redis/connect.ts'
import { bodyDigest } from '../../redis/idempotency.ts'
import { inDoubtKey, messageKey } from '../../redis/keys.ts'
import { observerOf } from '../../redis/observe.ts'
import { once } from '../../redis/once.ts'
import { assertReplicated, assertReplicating, needsReplicas } from '../../redis/replication.ts'
import type { Acknowledgement } from './acknowledgement.ts'
import { type PrepareDeps, prepareMessage, refusalOf, refuseClosedLane } from './prepare-message.ts'
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
  /** The only senders that the key is for; none: all. */
  senders?: readonly number[] | undefined
  /** The trace that the request belongs to, as it came: anything that is no `traceparent` is ignored. */
  traceparent?: string | undefined
}

/** A message whose job is durable in Redis. `id` is valid for lookups from now on. */
export interface Accepted {
  id: string
  acknowledgement: Acknowledgement
  /** The fields of the body that nobody knows, at most twenty. */
  ignored: readonly UnknownField[]
  /** Why it may not reach the person although it was accepted; a repeat is not warned again. */
  warning?: string | undefined
}

/** Queues the message of a request, or throws a Refusal. */
export function acceptMessage(deps: AcceptDeps, request: SendRequest): Promise<Accepted> {
  const { account, traceparent } = request
  const accept = async (carried: string | undefined, ids: (ids: readonly string[]) => void): Promise<Accepted> => {
    const accepted = await acceptFor(deps, request, carried)
    ids([accepted.id])
    return accepted
  }
  return traceAccept({ kind: 'one', account, traceparent }, accept, refusalCodeOf)
}

/** The lane of an id that was made here. */
function laneOf(name: string): number {
  const id = parseMessageId(name)
  if (!id) throw new Error('an idempotency key of a message stands for something else')
  return id.lane
}

/** Why a key that is for some senders may not send this. */
const notFor = ({ sender }: { sender?: string }): string | undefined =>
  sender === undefined ? 'The key is not for the default sender: name another one in the field sender.' : undefined

/** `trace` goes into the job. */
async function acceptFor(deps: AcceptDeps, request: SendRequest, trace: string | undefined): Promise<Accepted> {
  const beganAt = performance.now()
  const { account, kind, body } = request
  const read = readSend(kind, body, request.unknownFields)
  if (!read.ok) throw await refusalOf(deps, account, read)
  if (read.ignored.length > 0 && (await cachedAccount(deps.redis, account))?.unknown_fields === 'refuse') {
    throw await refusalOf(deps, account, withUnknown(read, read.ignored))
  }
  const { input, to } = read.message

  const use = { account, route: kind, key: request.idempotencyKey, digest: () => bodyDigest(body) }
  let leaveRoom: (() => void) | undefined
  let warning: string | undefined
  const id = await once(deps.redis, use, {
    async prepare(kept) {
      const nowMs = Date.now()
      const given = kept === undefined ? undefined : laneOf(kept)
      const { lane, payload, warn } = await prepareMessage(deps, { account, lane: given }, read, nowMs)
      if (request.senders !== undefined) assertForSender({ senders: request.senders }, lane, notFor(read.message))
      if (trace !== undefined) payload.trace = trace
      leaveRoom ??= await roomToWait(deps, account, 1)
      return { name: messageId(lane, newUlid(nowMs)), work: { lane, payload, warn } }
    },
    async make(name, { lane, payload, warn }) {
      await assertReplicating(deps.redis, inDoubtKey(lane))
      // In the same round trip. Without an answer there is no warning.
      const warned = warn?.().catch(() => undefined)
      await deps.queues.add(name, payload).catch(refuseClosedLane)
      warning = await warned
      observerOf(deps.redis).accepted({ lane, class: payload.class, count: 1 })
      return name
    },
    async find(name) {
      const parsed = parseMessageId(name)
      return parsed && (await messageExists(deps.redis, parsed)) ? name : undefined
    },
    // Its sender was removed, so that nothing is put on its lane any more.
    isSpent: (name) => isLaneClosed(deps.redis, laneOf(name)),
  }).finally(() => leaveRoom?.())
  await assertMessagesReplicated(deps.redis, [id])
  observerOf(deps.redis).acceptTook('one', performance.now() - beganAt)
  const acknowledgement: Acknowledgement = {
    messaging_product: 'chatapp',
    contacts: [{ input, wa_id: to }],
    messages: [{ id }],
  }
  return { id, acknowledgement, ignored: read.ignored, warning }
}

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
