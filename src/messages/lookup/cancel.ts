// Cancels a message wherever it waits: as a job, or as a place of its campaign's list.

import { type MessageId, messageId } from '../../kernel/message-id.ts'
import { type CancelResult, cancelMessage } from '../../lanes/cancel-message.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import { findUnclaimed, type ListSettings } from '../../recipients/unclaimed-message.ts'
import type { Redis } from '../../redis/connect.ts'

/**
 * Cancels the message unless it was claimed, has ended or is past its validity. One without a job first gets one, which is cancelled:
 * if the process dies in between, that job sends it, as without the request.
 */
export async function cancelWherever(
  deps: { redis: Redis; queues: LaneQueues; config: ListSettings & { retentionMs: number } },
  id: MessageId,
): Promise<CancelResult> {
  const { redis, queues, config } = deps
  const result = await cancelMessage(deps, id, config.retentionMs)
  if (result.verdict !== 'missing') return result
  const payload = await findUnclaimed(redis, id, config)
  if (payload === undefined) return cancelMessage(deps, id, config.retentionMs)
  await queues.add(messageId(id.lane, id.ulid), payload)
  return cancelMessage(deps, id, config.retentionMs)
}
