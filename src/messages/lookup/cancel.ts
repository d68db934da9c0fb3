// Cancels a message wherever it waits: in a job of its own, in a record, or in a chunk of a campaign.
import { findInChunk, type ListSettings } from '../../campaigns/store/open-campaigns.ts'
import { type CancelResult, cancelMessage } from '../../lanes/cancel-message.ts'
import type { LaneQueues } from '../../queue/lane/queues.ts'
import type { Redis } from '../../redis/connect.ts'
import { type MessageId, messageId } from '../message-id.ts'

/**
 * Cancels the message unless it was claimed, has ended or is past its validity. One in a chunk gets a job of its own first,
 * which is what is cancelled: dying in between, it is sent by that job, as if nobody had asked.
 */
export async function cancelWherever(
  deps: { redis: Redis; queues: LaneQueues; config: ListSettings & { retentionMs: number } },
  id: MessageId,
): Promise<CancelResult> {
  const { redis, queues, config } = deps
  const result = await cancelMessage(deps, id, config.retentionMs)
  if (result.verdict !== 'missing') return result
  const payload = await findInChunk(redis, id, config)
  if (payload === undefined) return cancelMessage(deps, id, config.retentionMs)
  await queues.add(messageId(id.lane, id.ulid), payload)
  return cancelMessage(deps, id, config.retentionMs)
}
