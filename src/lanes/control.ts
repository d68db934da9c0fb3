// What is done to a lane as a whole, by people or because WhatsApp blocks its sender: it is shown, paused, resumed and deleted. Workers
// read no job of a paused lane (scripts/lane-next.lua).

import { logOwnAct } from '../accounts/own-acts.ts'
import { dropRetainedLane, type RemovedLane } from '../accounts/retained-lanes.ts'
import {
  findSender,
  grantedRate,
  type Sender,
  setBlocked,
  setPausedAt,
  setPausedFor,
  setResumed,
} from '../accounts/senders.ts'
import { iso, isoOrNull } from '../kernel/instant.ts'
import type { LaneStatus } from '../model/lanes/lane-status.ts'
import { whyCampaignsWait } from '../portfolios/campaign-waits.ts'
import { endCampaignsRest } from '../portfolios/campaigns-rest.ts'
import { redisNowMs } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import {
  activeCampaignsKey,
  campaignsRestKey,
  inDoubtKey,
  laneClosedKey,
  messageIndexKey,
  openSegmentsKey,
  outboxKey,
  parkedCampaignsKey,
  placesKey,
  pollingKey,
  pollKey,
  queuedAgainKey,
  requeueableKey,
  senderBlockedKey,
  senderKey,
  throttledKey,
  turnsKey,
} from '../redis/keys.ts'
import { endLaneCooldown } from './cooldown.ts'
import type { LaneQueues } from './queues.ts'
import { emitSenderBlocked, emitSenderRecovered } from './sender-notices.ts'
import { isLanePaused, oldestOf, readLaneStats } from './stats.ts'

/** The status of the lanes of these senders, in their order. */
export const laneStatuses = (redis: Redis, senders: readonly Sender[]): Promise<LaneStatus[]> =>
  Promise.all(senders.map((sender) => laneStatus(redis, sender)))

async function laneStatus(redis: Redis, sender: Sender): Promise<LaneStatus> {
  const stats = await readLaneStats(redis, sender.id)
  const { waiting, places, isPaused, cooldown } = stats
  const oldestAt = oldestOf(stats)
  const owner = { lane: sender.id, ...(sender.portfolio !== null && { portfolio: { id: sender.portfolio } }) }
  const hasRunning = stats.campaigns.some(({ state }) => state === 'running')
  const rest = hasRunning ? await whyCampaignsWait(redis, owner) : undefined
  // The sender may have been read before the pause began, and its reason is written before the pause.
  const pause = isPaused ? await findSender(redis, sender.id) : undefined
  return {
    lane: sender.id,
    account: sender.account,
    number: sender.number,
    name: sender.name,
    provider: sender.provider,
    rate: sender.rate,
    granted_rate: grantedRate(sender),
    paused: isPaused,
    paused_for: pause?.paused_for ?? '',
    paused_by: pause?.paused_by ?? '',
    paused_at: isoOrNull(pause?.paused_at || undefined),
    cooldown_until: cooldown ? iso(cooldown.until) : null,
    cooldown_code: cooldown?.code ?? '',
    cooldown_for: cooldown?.sentence ?? '',
    campaigns_wait: rest === undefined ? null : { ...rest, until: new Date(rest.until).toISOString() },
    waiting: waiting.transactional + waiting.campaign + places,
    oldest_waiting_at: isoOrNull(oldestAt),
    delayed: stats.delayed,
    active: stats.active,
    reopened: stats.reopened,
    set_aside: stats.deadLetters,
  }
}

/** The lane's sender; undefined when there is none, or it was removed. */
export async function laneOf(redis: Redis, lane: number): Promise<Sender | undefined> {
  const sender = await findSender(redis, lane)
  return sender?.removed_at === undefined ? sender : undefined
}

/** Nothing more leaves the lane but what is in flight. `by` and `reason` are shown in lists. */
export async function pauseLane(
  redis: Redis,
  queues: LaneQueues,
  lane: number,
  { reason, by }: { reason: string; by: string },
): Promise<void> {
  await notePauseBegins(redis, lane)
  await setPausedFor(redis, lane, reason, by)
  await queues.pause(lane)
}

/**
 * Records since when the lane is paused, unless it is paused already. Dying after it leaves a time that nobody reads and the next
 * pause overwrites.
 */
async function notePauseBegins(redis: Redis, lane: number): Promise<void> {
  if (!(await isLanePaused(redis, lane))) await setPausedAt(redis, lane, await redisNowMs(redis, senderKey(lane)))
}

/**
 * Lets the lane send again: ends its pause and its cooldown. A provider that still throttles refuses the next message, which loses
 * nothing. Dying in between leaves the lane paused; the command is run again.
 */
export async function resumeLane(redis: Redis, queues: LaneQueues, lane: number): Promise<void> {
  await endLaneCooldown(redis, lane)
  await endCampaignsRest(redis, lane)
  await queues.resume(lane)
  await setResumed(redis, lane, await redisNowMs(redis, senderKey(lane)))
  await emitSenderRecovered(redis, lane)
}

/**
 * Pauses the lane until a person resumes it: WhatsApp lets its sender send nothing, for this reason. Dying before the pause leaves a
 * reason that nobody is shown, and WhatsApp's next refusal pauses the lane; dying after it leaves out the event.
 */
export async function blockLane(redis: Redis, queues: LaneQueues, lane: number, reason: string): Promise<void> {
  await notePauseBegins(redis, lane)
  await setBlocked(redis, lane, reason, await redisNowMs(redis, senderKey(lane)))
  await queues.pause(lane)
  // Many messages in flight are refused at once: the first of them writes the activity.
  if (await emitSenderBlocked(redis, lane, reason))
    await logOwnAct(redis, lane, { action: 'lane.pause', target: String(lane), detail: reason })
}

/**
 * Deletes the rest of a removed sender's lane once none of its messages is kept: the sender, lists of ended messages, and BullMQ's
 * queues. Records, history and cooldowns expire by themselves. Idempotent; dying in between leaves a lane that is found again, because
 * it leaves its list last.
 */
export async function forgetLane(redis: Redis, queues: LaneQueues, removed: RemovedLane): Promise<void> {
  const { lane } = removed
  await queues.remove(lane)
  await redis.del(
    ...[messageIndexKey(lane), openSegmentsKey(lane), outboxKey(lane), laneClosedKey(lane)],
    ...[senderBlockedKey(lane), throttledKey(lane)],
    ...[inDoubtKey(lane), queuedAgainKey(lane), requeueableKey(lane), pollKey(lane), pollingKey(lane)],
    ...[activeCampaignsKey(lane), parkedCampaignsKey(lane), campaignsRestKey(lane), placesKey(lane), turnsKey(lane)],
  )
  await redis.del(senderKey(lane))
  await dropRetainedLane(redis, removed)
}
