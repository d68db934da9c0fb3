// What a throttled message means to campaigns: all those of its lane slow down.

import type { Outcome } from '../../model/messages/outcome.ts'
import { isThrottling } from '../../model/messages/provider-codes.ts'
import { noteThrottled } from '../../recipients/fan-out-state.ts'
import type { Redis } from '../../redis/connect.ts'

/** Slows a lane's campaigns once any message was throttled. Repeating it does no harm. */
export async function notifyCampaigns(
  redis: Redis,
  lane: number,
  outcome: Extract<Outcome, { problem: unknown }>,
): Promise<void> {
  if (outcome.kind === 'lane_waits' && isThrottling(outcome.problem.code)) await noteThrottled(redis, lane)
}
