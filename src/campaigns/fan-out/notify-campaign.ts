// What an answer of the provider means beyond its message: for the campaign that it belongs to, and for all on its lane.
import type { Config } from '../../config.ts'
import type { Log } from '../../log.ts'
import type { Outcome } from '../../messages/outcome.ts'
import { observerOf } from '../../observe.ts'
import type { Redis } from '../../redis/connect.ts'
import { templatePauseReason } from '../circuit-breaker.ts'
import { isThrottling } from '../pace.ts'
import { idOf, moveCampaign } from '../store/campaigns.ts'
import { noteThrottled } from '../store/round.ts'

/** `run` is the number of the message's campaign, if it belongs to one. Repeating it does no harm. */
export async function notifyCampaign(
  deps: { redis: Redis; config: Pick<Config, 'retentionMs'>; log: Log },
  lane: number,
  run: number | undefined,
  outcome: Extract<Outcome, { problem: unknown }>,
): Promise<void> {
  const { code } = outcome.problem
  // Campaigns go slower also when it was another message that showed that the lane is too fast.
  if (outcome.kind === 'lane_waits' && isThrottling(code)) await noteThrottled(deps.redis, lane)
  const reason = outcome.kind === 'failed' ? templatePauseReason(code) : undefined
  if (reason === undefined || run === undefined) return
  const campaign = { lane, number: run }
  const moved = await moveCampaign(deps.redis, campaign, 'pause', deps.config.retentionMs, { fields: { reason } })
  if (moved.kind !== 'moved') return
  deps.log.warn({ campaign: idOf(campaign), code }, 'campaign.auto_paused')
  observerOf(deps.redis).campaignPaused()
}
