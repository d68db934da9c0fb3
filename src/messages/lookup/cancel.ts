// Cancels a message wherever it waits, as a job or as a place of its campaign's list; or records there that it has expired.

import { type MessageId, messageId } from '../../kernel/message-id.ts'
import { type CancelResult, cancelMessage, expireMessage } from '../../lanes/cancel-message.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import { findUnclaimed, type ListSettings } from '../../recipients/unclaimed-message.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { requeueableKey } from '../../redis/keys.ts'

interface Deps {
  redis: Redis
  queues: LaneQueues
  config: ListSettings & { retentionMs: number }
}

/**
 * Cancels the message unless it was claimed, has ended or is past its validity. One without a job first gets one, which is cancelled:
 * if the process dies in between, that job sends it, as without the request.
 */
export async function cancelWherever(deps: Deps, id: MessageId): Promise<CancelResult> {
  const { redis, queues, config } = deps
  const result = await cancelMessage(deps, id, config.retentionMs)
  if (result.verdict !== 'missing') return result
  const payload = await findUnclaimed(redis, id, config)
  if (payload !== undefined) await queues.add(messageId(id.lane, id.ulid), payload)
  return cancelMessage(deps, id, config.retentionMs)
}

/** Records that the message has expired, in the same way; false unless its validity was over while it waited. */
export async function expireWherever(deps: Deps, id: MessageId): Promise<boolean> {
  const { redis, queues, config } = deps
  const { verdict } = await expireMessage(deps, id, config.retentionMs)
  if (verdict !== 'missing') return verdict === 'done'
  const payload = await findUnclaimed(redis, id, config)
  if (payload === undefined || payload.until > (await redisNowMs(redis, requeueableKey(id.lane)))) return false
  await queues.add(messageId(id.lane, id.ulid), payload)
  return (await expireMessage(deps, id, config.retentionMs)).verdict === 'done'
}
