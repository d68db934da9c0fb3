// What an answer of the provider means for the campaigns of its lane, whichever message drew it.
import type { Outcome } from '../../messages/outcome.ts'
import type { Redis } from '../../redis/connect.ts'
import { isThrottling } from '../pace.ts'
import { noteThrottled } from '../store/round.ts'

/** Campaigns go slower once a message has shown that the lane is too fast. Repeating it does no harm. */
export async function notifyCampaigns(
  redis: Redis,
  lane: number,
  outcome: Extract<Outcome, { problem: unknown }>,
): Promise<void> {
  if (outcome.kind === 'lane_waits' && isThrottling(outcome.problem.code)) await noteThrottled(redis, lane)
}
