// How many of a campaign's messages are in which state, as Redis counts them in the same step as each message.

import { LETTERS, STATES, type State } from '../../messages/lifecycle.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignCountsKey } from '../../redis/keys.ts'
import type { CampaignId } from '../campaign-id.ts'

export type Counts = Partial<Record<State, number>>

/** Messages with a record, by state. */
export async function readCounts(redis: Redis, { lane, number }: CampaignId): Promise<Counts> {
  return countsOf(await redis.hgetall(campaignCountsKey(lane, number)))
}

/** From what stands in the hash of counts. */
export function countsOf(hash: Readonly<Record<string, string>>): Counts {
  return Object.fromEntries(
    STATES.flatMap((state) => {
      const count = Number(hash[LETTERS[state]] ?? 0)
      return count === 0 ? [] : [[state, count]]
    }),
  )
}
