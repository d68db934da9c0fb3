// The most frequent code among the latest messages of a campaign that its circuit breaker counts as bad, read once, when it pauses
// the campaign.
import { archiveOf } from '../../lanes/archive/archive.ts'
import type { CampaignId } from '../../model/campaigns/campaign-id.ts'
import { isCountedBad } from '../../model/campaigns/exempt.ts'
import { describeCode } from '../../model/messages/provider-codes.ts'
import type { Redis } from '../../redis/connect.ts'
import { inDoubtKey, requeueableKey } from '../../redis/keys.ts'

/** Messages of the lane that are read, of those that failed and of those in doubt. */
const LATEST = 200

/** In words, with the code; undefined when none is known. */
export async function mostFrequentCode(redis: Redis, { lane, number }: CampaignId): Promise<string | undefined> {
  const lists = [requeueableKey(lane), inDoubtKey(lane)]
  const ulids = (await Promise.all(lists.map((key) => redis.zrevrange(key, 0, LATEST - 1)))).flat()
  if (ulids.length === 0) return undefined
  const counts = new Map<string, number>()
  for (const record of await archiveOf(redis).find({ lane, ulids }, 'progress')) {
    if (record === undefined || record instanceof Error) continue
    const { run, state, code } = record
    if (run !== number || !code || !isCountedBad(state, code)) continue
    counts.set(code, (counts.get(code) ?? 0) + 1)
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a)
  return most && describeCode(most[0])
}
