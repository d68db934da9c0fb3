// Claims of one message, wherever it waits.
import type { MessageId } from '../../src/kernel/message-id.ts'
import { type ClaimResult, type ClaimTerms, claimMessages } from '../../src/lanes/messages/claim.ts'
import type { NewMessage } from '../../src/lanes/messages/new-message.ts'
import type { Pace } from '../../src/model/messages/pace.ts'
import type { Redis } from '../../src/redis/connect.ts'

/** Claims the message for the attempt. Rejects when its claim fails. */
export async function claim(
  redis: Redis,
  id: MessageId,
  attempt: string,
  message: NewMessage,
  terms: ClaimTerms,
  pace?: Pace,
): Promise<ClaimResult> {
  const [result] = await claimMessages(redis, [{ id, attempt, message }], { ...terms, ...(pace && { pace }) })
  if (result === undefined) throw new Error('a claim came to nothing')
  if (result instanceof Error) throw result
  return result
}
