// Puts recipients of a campaign on its lane, as places of its list: the worker that takes one makes the message, unless the recipient
// has a state. So feeding a recipient twice is harmless.

import { addPlaces, type Span } from '../../lanes/places.ts'
import type { CampaignId } from '../../model/campaigns/campaign-id.ts'
import type { State } from '../../model/messages/lifecycle.ts'
import { firstUnclaimed, readRecipientStates } from '../../recipients/recipient-states.ts'
import type { Redis } from '../../redis/connect.ts'

/**
 * Places of the list that one step reads: as many as may be fed, within these limits, since hardly any has a state. If all of them have,
 * more are skipped.
 */
const LEAST_READ = 64
const MOST_READ = 2_048

/** The position of a round in the list, and its limits. */
export interface Round {
  /** Place of the recipient that is fed next. */
  next: number
  total: number
  /** Recipients that may be fed. */
  room: number
  /** Fewer than this are not worth a step, see portionOf in pace.ts. */
  least: number
}

/** Feeds recipients without a state. Returns how many were fed, and the place to go on from. */
export async function feed(
  redis: Redis,
  id: CampaignId,
  { next, total, room, least }: Round,
): Promise<{ count: number; next: number }> {
  if (room < Math.min(least, total - next)) return { count: 0, next }
  const count = Math.min(MOST_READ, Math.max(LEAST_READ, room), total - next)
  const states = await readRecipientStates(redis, id, next, count)
  if (!states.includes(undefined)) return { count: 0, next: await firstUnclaimed(redis, id, next + count, total) }
  const { spans, fed, end } = spansToFeed(states, room)
  await addPlaces(
    redis,
    id,
    spans.map(({ from, count }) => ({ from: next + from, count })),
  )
  return { count: fed, next: next + end }
}

/**
 * The first recipients without a state of those whose states these are, `room` at most. `end` is the place after the last one that is fed
 * or has a state.
 */
export function spansToFeed(
  states: readonly (State | undefined)[],
  room: number,
): { spans: Span[]; fed: number; end: number } {
  const spans: Span[] = []
  let [fed, end] = [0, 0]
  for (; end < states.length && (fed < room || states[end] !== undefined); end += 1) {
    if (states[end] !== undefined) continue
    const last = spans.at(-1)
    if (last !== undefined && last.from + last.count === end) last.count += 1
    else spans.push({ from: end, count: 1 })
    fed += 1
  }
  return { spans, fed, end }
}
