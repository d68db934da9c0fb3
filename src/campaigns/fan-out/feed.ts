// Puts recipients of a campaign on its lane, in chunks: a job names places of the list, and the worker that runs it sends
// to those that have no state yet. So feeding a recipient twice is harmless.

import type { Chunk } from '../../jobs/chunk.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import type { CampaignId } from '../../model/campaigns/campaign-id.ts'
import { MOST_IN_CHUNK } from '../../model/campaigns/pace.ts'
import type { State } from '../../model/messages/lifecycle.ts'
import { firstUnclaimed, readRecipientStates } from '../../recipients/recipient-states.ts'
import type { Redis } from '../../redis/connect.ts'

/**
 * Places of the list that one step reads, and feeds at most. These are several chunks: a fast lane takes chunks faster than steps of
 * one chunk each. If all of them have states, more are skipped.
 */
const LOOKED_AT = 2_048

/** The position of a round in the list, and its limits. */
export interface Round {
  /** Place of the recipient that is fed next. */
  next: number
  total: number
  /** Recipients that may be fed. */
  room: number
  /** Of a chunk, see chunkOf in pace.ts. */
  size: number
  /** Who feeds: the epoch, and how many searches for lost messages it has made. */
  by: string
}

/** Feeds whole chunks of recipients without a state. Returns how many were fed, and the place to go on from. */
export async function feed(
  deps: { redis: Redis; queues: LaneQueues },
  id: CampaignId,
  { next, total, room, size, by }: Round,
): Promise<{ count: number; next: number }> {
  if (room < Math.min(size, total - next)) return { count: 0, next }
  const states = await readRecipientStates(deps.redis, id, next, Math.min(LOOKED_AT, total - next))
  const looked = next + states.length
  if (!states.includes(undefined)) return { count: 0, next: await firstUnclaimed(deps.redis, id, looked, total) }
  const plan = planChunks(states, { room, size, isEnd: looked >= total })
  const chunks = plan.chunks.map(({ from, count }): Chunk => ({ v: 1, run: id.number, from: next + from, count }))
  if (chunks.length > 0) await deps.queues.addChunks(id.lane, chunks, by)
  return { count: plan.fed, next: next + plan.end }
}

/**
 * Chunks of the recipients whose states these are: each of `size` that have none, fewer only at the end of the list, and
 * `room` of them in all. `end` is the place after the last one that was fed or has a state.
 */
export function planChunks(
  states: readonly (State | undefined)[],
  { room, size, isEnd }: { room: number; size: number; isEnd: boolean },
): { chunks: { from: number; count: number }[]; fed: number; end: number } {
  const chunks: { from: number; count: number }[] = []
  let fed = 0
  let end = 0
  for (let place = 0; place < states.length && fed < room; ) {
    if (states[place] !== undefined) {
      place += 1
      end = place
      continue
    }
    const from = place
    let unclaimed = 0
    let last = place
    for (; place < states.length && place - from < MOST_IN_CHUNK && unclaimed < size; place += 1) {
      if (states[place] !== undefined) continue
      unclaimed += 1
      last = place
    }
    const isWhole = unclaimed === size || place - from === MOST_IN_CHUNK || isEnd
    if (fed + unclaimed > room || !isWhole) break
    chunks.push({ from, count: last + 1 - from })
    fed += unclaimed
    end = last + 1
  }
  return { chunks, fed, end }
}
