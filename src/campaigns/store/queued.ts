// The messages of a campaign that have a record and wait for another try: thrown back by the provider, or never left.

import { LETTERS } from '../../messages/lifecycle.ts'
import { FIELDS } from '../../messages/store/record-format.ts'
import type { Redis } from '../../redis/connect.ts'
import { messageKey, queuedAgainKey } from '../../redis/keys.ts'
import type { CampaignId } from '../campaign-id.ts'

/** Most records read at a time: after a large requeue 100,000 messages may be queued again. */
const AT_ONCE = 1_000

/** Their ULIDs, a page at a time. They are among the lane's messages that are queued again. */
export async function* queuedMessagesOf(redis: Redis, { lane, number }: CampaignId): AsyncGenerator<string[]> {
  const again = await redis.zrange(queuedAgainKey(lane), '0', '-1')
  for (let from = 0; from < again.length; from += AT_ONCE) {
    const some = again.slice(from, from + AT_ONCE)
    const records = await Promise.all(some.map((ulid) => redis.hmget(messageKey(lane, ulid), FIELDS.state, FIELDS.run)))
    yield some.filter((_ulid, i) => records[i]?.[0] === LETTERS.queued && records[i]?.[1] === String(number))
  }
}
