// Messages that have left and what became of them, by the steps themselves and without a provider.
import { messageId } from '../../src/kernel/message-id.ts'
import { recordStatus } from '../../src/lanes/messages/steps.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { claim } from './claim.ts'
import { audioMessage, LONG_TIMES, newId } from './lane-redis.ts'

/** So many messages of the lane become `sent` in one step, and `delivered` in another if that is asked for; their ids. */
export async function sentMessages(redis: Redis, lane: number, count: number, isDelivered: boolean): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId(lane))
  const message = { ...audioMessage, validUntil: Date.now() + 3_600_000 }
  await Promise.all(ids.map((id) => claim(redis, id, 'AAAAAA', message, LONG_TIMES)))
  await Promise.all(ids.map((id) => recordStatus(redis, id, 'AAAAAA', 'sent', { providerId: 'wamid.1' })))
  if (isDelivered) await Promise.all(ids.map((id) => recordStatus(redis, id, 'AAAAAA', 'delivered')))
  return ids.map(({ ulid }) => messageId(lane, ulid))
}
