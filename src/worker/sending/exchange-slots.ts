// Other slots of a lane in place of missed ones, in one step.
import { reserveSlots, type Slot } from '../../lanes/messages/claim.ts'
import type { Pace } from '../../model/messages/pace.ts'
import type { SendDeps } from './attempt.ts'

/** A slot in place of a missed one that is further ahead than this is not used: the message goes back to its lane. */
const MOST_AHEAD_MS = 2_000

/** The exchange of one lane. It may return fewer than were missed, and rejects when Redis is away. */
export const slotExchange =
  ({ redis, clock }: Pick<SendDeps, 'redis' | 'clock'>, lane: number) =>
  async (missed: readonly Slot[], pace: Pace): Promise<Slot[]> => {
    const askedAt = performance.now()
    const found = await reserveSlots(redis, lane, missed, { pace, mostAheadMs: MOST_AHEAD_MS })
    const [slot] = found
    if (slot) clock.observe(lane, askedAt, slot.nowMs, performance.now())
    return found
  }
