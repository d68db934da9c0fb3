// The messages of a campaign that have a record and wait for another try: thrown back by the provider, or never left.
import type { CampaignId } from '../messages/campaign-id.ts'
import { LETTERS } from './message-records.ts'
import type { Redis } from './redis.ts'
import { messageKey, queuedAgainKey } from './redis-keys.ts'

/** Their ULIDs. They are among the lane's messages that are queued again. */
export async function queuedMessagesOf(redis: Redis, { lane, number }: CampaignId): Promise<string[]> {
  const again = await redis.zrange(queuedAgainKey(lane), '0', '-1')
  const records = await Promise.all(again.map((ulid) => redis.hmget(messageKey(lane, ulid), 's', 'r')))
  return again.filter((_ulid, i) => records[i]?.[0] === LETTERS.queued && records[i]?.[1] === String(number))
}
