// Accepting a message: everything between a parsed request and its acknowledgement.
//
// The acknowledgement is given once the job is durable in Redis; the provider is not called here. If the process dies
// - before the job is added: nothing was accepted and the client got no answer; with an Idempotency-Key its repeat
//   gets the id that the key already stands for, and the message is made then;
// - after: the message is accepted although the client may not know; its repeat with the same key finds it.
import type { Request } from 'express'
import type { Config } from '../config.ts'
import type { SendPayload } from '../jobs/send.ts'
import { messageId, newUlid, parseMessageId } from '../messages/message-id.ts'
import { bodyDigest, recallKey, rememberKey } from '../store/idempotency.ts'
import type { LaneQueues } from '../store/lane-queues.ts'
import { messageExists } from '../store/lookup.ts'
import type { Redis } from '../store/redis.ts'
import { ApiError, invalid } from './errors.ts'
import type { Answer, Call } from './route.ts'

export interface AcceptDeps {
  redis: Redis
  config: Pick<Config, 'validityMs'>
  queues: LaneQueues
}

/** A message that is ready to be queued. */
export interface PreparedMessage {
  lane: number
  payload: SendPayload
}

const MAX_KEY_LENGTH = 255

/**
 * Queues a message and answers with its acknowledgement. `prepare` does the checks that depend on the state of the
 * account or on the time; it is not run again for a repeat whose message exists, so that a repeat gets the same
 * acknowledgement even when its validity has passed or its template is gone by then.
 */
export async function acceptMessage(
  deps: AcceptDeps,
  call: Call,
  recipient: { input: string; digits: string },
  prepare: () => Promise<PreparedMessage>,
): Promise<Answer> {
  const key = idempotencyKeyOf(call.request)
  if (key === undefined) {
    const { lane, payload } = await prepare()
    const id = messageId(lane, newUlid(Date.now()))
    await deps.queues.add(id, payload)
    return acknowledgement(recipient, id)
  }

  const where = { account: call.caller.account, route: call.request.path, key }
  const digest = bodyDigest(call.body)
  const earlier = await recallKey(deps.redis, where)
  if (earlier && (await isRepeat(deps, earlier, digest))) return acknowledgement(recipient, earlier.id)

  const { lane, payload } = await prepare()
  const kept = await rememberKey(deps.redis, where, { id: messageId(lane, newUlid(Date.now())), digest })
  if (!kept.isNew && (await isRepeat(deps, kept, digest))) return acknowledgement(recipient, kept.id)
  await deps.queues.add(kept.id, payload)
  return acknowledgement(recipient, kept.id)
}

/** Whether the key's message exists; throws when the key came with another body. */
async function isRepeat(deps: AcceptDeps, kept: { id: string; digest: string }, digest: string): Promise<boolean> {
  if (kept.digest !== digest) {
    throw new ApiError(
      422,
      'idempotency_key_reused',
      'This Idempotency-Key was used with another body; use a new key for a new message.',
    )
  }
  const id = parseMessageId(kept.id)
  return id !== undefined && messageExists(deps.redis, id)
}

function idempotencyKeyOf(request: Request): string | undefined {
  const key = request.get('idempotency-key')
  if (key === undefined || key === '') return undefined
  if (key.length > MAX_KEY_LENGTH) {
    throw invalid([{ path: 'Idempotency-Key', message: `at most ${MAX_KEY_LENGTH} characters, got ${key.length}` }])
  }
  return key
}

function acknowledgement(recipient: { input: string; digits: string }, id: string): Answer {
  return {
    body: {
      messaging_product: 'chatapp',
      contacts: [{ input: recipient.input, wa_id: recipient.digits }],
      messages: [{ id }],
    },
  }
}

/** When the message stops being worth sending: what the request says, else the default of its class. */
export function validUntil(
  config: Pick<Config, 'validityMs'>,
  messageClass: SendPayload['class'],
  asked: number | undefined,
): number {
  const now = Date.now()
  if (asked === undefined) return now + config.validityMs[messageClass]
  if (asked <= now) throw invalid([{ path: 'valid_until', message: 'must be in the future' }])
  return asked
}
