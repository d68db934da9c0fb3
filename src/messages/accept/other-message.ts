// The message that a message answers or reacts to. The chat product knows it by its own id; a client that sent it knows
// ours, which is put in its place here. What was received has the chat product's id everywhere.

import type { Redis } from '../../redis/connect.ts'
import type { ServiceContent } from '../content.ts'
import { parseMessageId } from '../message-id.ts'
import { readMessage } from '../store/records.ts'
import { invalidFields } from './refusal.ts'

/**
 * The content as it goes out from this lane. A Refusal when it names a message of ours that this sender has not sent, or
 * not yet: nobody but the chat product can judge an id of its own.
 */
export async function withProviderIds(redis: Redis, lane: number, content: ServiceContent): Promise<ServiceContent> {
  if (content.type === 'reaction') {
    const { message_id, emoji } = content.reaction
    const known = await providerIdOf(redis, lane, message_id, 'reaction.message_id')
    return { type: 'reaction', reaction: { message_id: known, emoji } }
  }
  if (content.context === undefined) return content
  const { message_id } = content.context
  return { ...content, context: { message_id: await providerIdOf(redis, lane, message_id, 'context.message_id') } }
}

async function providerIdOf(redis: Redis, lane: number, given: string, path: string): Promise<string> {
  const id = parseMessageId(given)
  if (!id) return given
  const record = id.lane === lane ? await readMessage(redis, id) : undefined
  if (record?.providerId) return record.providerId
  throw invalidFields([{ path, message: 'no message that this sender has sent' }])
}
