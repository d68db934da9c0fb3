// Messages of a campaign that wait as jobs which are due later: their person has had enough marketing, or they are tried again.
import { acceptedAtMs, parseMessageId } from '../kernel/message-id.ts'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import { placeInId } from '../model/campaigns/message-ids.ts'
import type { Redis } from '../redis/connect.ts'
import { placesKey } from '../redis/keys.ts'
import { delayedUntil, laneBacklogKeys } from './bullmq/layout.ts'
import { parsePlace } from './places.ts'

/** Delayed jobs of the lane that are read, those due first: 60 KB. */
const DELAYED_MOST = 1_000
/** What is next in line: campaigns take turns, so one that waits there is among them. */
const LINE_MOST = 200

/** The messages of a campaign that are put off. Times in epoch ms. */
export interface PutOff {
  first: { ulid: string; dueMs: number }
  lastDueMs: number
}

/**
 * The messages of a campaign that are put off, if these are all `queued` ones of it; else undefined, as well where more than a thousand
 * jobs of others are due before. A campaign is told by the time of its start.
 */
export async function allPutOff(
  redis: Redis,
  { lane, number }: CampaignId,
  { startedAtMs, total, queued }: { startedAtMs: number; total: number; queued: number },
): Promise<PutOff | undefined> {
  const { delayed, prioritized } = laneBacklogKeys(lane)
  const [later, places, line] = await Promise.all([
    redis.zrange(delayed, '0', String(DELAYED_MOST - 1), 'WITHSCORES'),
    redis.zrange(placesKey(lane), '0', String(LINE_MOST - 1)),
    redis.zrange(prioritized, '0', String(LINE_MOST - 1)),
  ])
  const ulidOfOwn = (id: string): string | undefined => {
    const ulid = parseMessageId(id)?.ulid
    return ulid !== undefined && acceptedAtMs(ulid) === startedAtMs && placeInId(ulid) < total ? ulid : undefined
  }
  if (places.some((name) => parsePlace(name)?.run === number) || line.some((id) => ulidOfOwn(id) !== undefined)) {
    return undefined
  }
  const own: PutOff['first'][] = []
  for (let i = 0; i < later.length; i += 2) {
    const ulid = ulidOfOwn(later[i] ?? '')
    if (ulid !== undefined) own.push({ ulid, dueMs: Math.floor(delayedUntil(later[i + 1] ?? '')) })
  }
  const [first] = own
  const last = own.at(-1)
  const isWhole = later.length < 2 * DELAYED_MOST
  if (first === undefined || last === undefined || (isWhole && own.length < queued)) return undefined
  return { first, lastDueMs: last.dueMs }
}
