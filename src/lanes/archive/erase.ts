// Erases whom a message was to or from and what it said. What became of it, when, and what it counts for stays. Doing it
// again changes nothing.
import { z } from 'zod'
import type { MessageId } from '../../kernel/message-id.ts'
import { namesOfPerson, openTextOr } from '../../kernel/sealed.ts'
import type { State } from '../../model/messages/lifecycle.ts'
import type { Redis } from '../../redis/connect.ts'
import { inboundKeyOf, messageKey, pollKey, replyWindowKey } from '../../redis/keys.ts'
import { findInboundBy, namesOfWriter } from '../messages/inbound.ts'
import { defineMessageScript } from '../messages/message-script.ts'
import { FIELD, stateSchema } from '../messages/record-format.ts'

/**
 * `before`: it was erased already. `other`: it is nobody's, or somebody else's. A state: it has not ended, and its lane must
 * end it first.
 */
export type Erased = 'erased' | 'before' | 'other' | Extract<State, 'queued' | 'sending' | 'unconfirmed'>

const eraseScript = defineMessageScript(import.meta.url, 'message-erase')
const eraseReply = z.union([
  z.enum(['erased', 'before', 'other']),
  stateSchema.pipe(z.enum(['queued', 'sending', 'unconfirmed'])),
])

/** Erases a message that was sent, if it is to this person. */
export async function eraseSent(redis: Redis, { lane, ulid }: MessageId, person: string): Promise<Erased> {
  const keys = { record: messageKey(lane, ulid), polls: pollKey(lane) }
  // A recipient is sealed in another way each time, and never again once it is written.
  const stored = await redis.hget(keys.record, FIELD.to)
  const recipient = stored !== null && openTextOr(stored, '') === person ? stored : person
  return eraseReply.parse(await eraseScript(redis, keys, { ulid, recipient }))
}

/** Erases a message that was received, if it is from this person, and the reply windows that it opened. */
export async function eraseReceived(
  redis: Redis,
  { account, name }: { account: number; name: string },
  person: string,
): Promise<Erased> {
  const message = await findInboundBy(redis, account, name)
  if (message?.from !== person) return 'other'
  const windows = namesOfWriter(message).flatMap((writer) =>
    namesOfPerson(writer).map((each) => replyWindowKey(message.lane, each)),
  )
  // Dying in between: the message is still there, and holds the person's other names for the next time.
  await redis.del(...windows)
  await redis.del(inboundKeyOf(account, name))
  return 'erased'
}
