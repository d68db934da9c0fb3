// The messages of a campaign that have a record and wait for another try: thrown back by the provider, or never left.
import type { CampaignId } from '../messages/campaign-id.ts'
import { LETTERS } from './message-records.ts'
import type { Redis } from './redis.ts'
import { messageKey, openKey } from './redis-keys.ts'

/** Their ULIDs. They are among the lane's open messages, which are few: those in flight, unconfirmed or thrown back. */
export async function queuedMessagesOf(redis: Redis, { lane, number }: CampaignId): Promise<string[]> {
  const open = await redis.zrangebyscore(openKey(lane), '-inf', '+inf')
  const records = await Promise.all(open.map((ulid) => redis.hmget(messageKey(lane, ulid), 's', 'r')))
  return open.filter((_ulid, i) => records[i]?.[0] === LETTERS.queued && records[i]?.[1] === String(number))
}
